// The page of the reader: shows what it is sent, keeps its place while a document grows, and tells which link is followed.
declare function acquireVsCodeApi(): { postMessage(message: unknown): void; setState(state: unknown): void };

const api = acquireVsCodeApi();
const main = document.getElementById('text');
let shown = '';

interface Show {
  type: 'show';
  html: string;
  uri: string;
}

window.addEventListener('message', (event: MessageEvent<Show>) => {
  if (!main) return;
  const { html, uri } = event.data;
  // The page's policy lets nothing load and nothing run, whatever stands in a node.
  main.innerHTML = html;
  if (uri !== shown) window.scrollTo(0, 0);
  shown = uri;
  api.setState({ uri });
});

document.addEventListener('click', event => {
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  const href = link?.getAttribute('data-href') ?? link?.getAttribute('href');
  if (!href) return;
  event.preventDefault();
  event.stopPropagation();
  api.postMessage({ type: 'follow', href });
}, true);

api.postMessage({ type: 'ready' });
