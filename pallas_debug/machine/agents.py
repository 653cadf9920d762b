"""Verbs on asynchronous operations: groups of them are committed and joined."""

from __future__ import annotations

from pallas_debug.machine import state as states
from pallas_debug.machine.threads import Threads
from pallas_debug.trace.schema import Kind


class Agents(Threads):
    """Asynchronous operations as a rule may use them."""

    __slots__ = ()

    def fence(self, scope: int = 0) -> None:
        """Makes stores before it visible to the asynchronous proxy (0: of SMEM)."""
        self.emit(Kind.FENCE, aux=scope)

    def commit(self, family: str) -> None:
        """Closes a group over this family's operations issued since the last one."""
        thread = self.thread
        closed = thread.closed.get(family, 0)
        for agent in thread.agents:
            if agent.family == family and agent.group < 0:
                agent.group = closed
        thread.closed[family] = closed + 1
        self.emit(Kind.COMMIT, aux=thread.groups)
        thread.groups += 1

    def join(self, family: str, pending: int, *, reads: bool = False) -> bool:
        """Waits until at most `pending` groups of a family are unfinished."""
        thread = self.thread
        last = thread.closed.get(family, 0) - pending
        due = [a for a in thread.agents if a.family == family and 0 <= a.group < last]
        for agent in due:
            if not (agent.done or (reads and agent.read_done)):
                waiters = self.state.joiners.setdefault(agent.thread, [])
                return self._sleep(waiters, (-1, agent.thread, 0))
        thread.waits = None
        for agent in due:
            if not (reads and agent.read_joined):
                self.emit(Kind.JOIN, agent.thread, aux=int(reads))
            agent.read_joined = True
        if due and not reads:
            thread.agents = [agent for agent in thread.agents if agent not in due]
        return True

    def await_agent(self, number: int) -> bool:
        """Waits until an agent of any thread has ended."""
        other = self.state.threads.get(number)
        if other is not None and other.status != states.DONE:
            return self._sleep(
                self.state.joiners.setdefault(number, []), (-1, number, 0)
            )
        self.thread.waits = None
        self.emit(Kind.JOIN, number)
        return True

    def reads_done(self) -> None:
        """An agent says that it has read its source."""
        agent = self.record(self.tid)
        if agent is not None:
            agent.read_done = True
            self.wake(self.state.joiners.get(self.tid, []))

    def record(self, number: int) -> states.Agent | None:
        """What the issuer of an agent remembers of it, None if nothing."""
        parent = self.state.threads.get(self.writer.threads[number][1])
        if parent is not None:
            for agent in reversed(parent.agents):
                if agent.thread == number:
                    return agent
        return None
