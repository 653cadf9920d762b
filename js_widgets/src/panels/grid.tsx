/** The grid panel; see the folder. */
export { panel } from "./grid/panel";
