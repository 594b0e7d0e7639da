/** The live page of a gateway. */

import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "./style/base.css";
import "./style/table.css";
import "./style/panel.css";
import { Page } from "./views/page.js";

render(<Page />, document.body);
