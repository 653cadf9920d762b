/** The memory panel; see the folder. */
export { panel } from "./memory/panel";
