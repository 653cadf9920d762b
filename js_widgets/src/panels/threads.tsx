/** The threads panel; see the folder. */
export { panel } from "./threads/panel";
