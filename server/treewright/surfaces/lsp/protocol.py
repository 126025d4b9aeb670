"""The protocol's dispatch over pygls: every request gets an answer, whatever is wrong with it.

pygls answers nothing to a message whose parameters do not fit, keeps unknown parameters as named tuples, and sends
tracebacks to the client. Here messages are checked before they are structured, own methods get their parameters as
plain objects, and errors are translated in one place.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, cast

from cattrs import Converter, transform_error
from cattrs.errors import BaseValidationError
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol, lsp_method

from treewright.surfaces.lsp import faults
from treewright.surfaces.lsp.faults import Fault, fault

if TYPE_CHECKING:
    from treewright.surfaces.lsp.server import TreewrightServer

logger = logging.getLogger(__name__)

OWN = "treewright/"
Answerer = Callable[[Any], Awaitable[Any]]


class TreewrightProtocol(LanguageServerProtocol):
    """The language server protocol with our own methods beside the standard ones."""

    _server: "TreewrightServer"

    def __init__(self, server: "TreewrightServer", converter: Converter) -> None:
        """Take pygls's parts."""
        super().__init__(server, converter)
        self.own: dict[str, Answerer] = {}
        self.initialized = False
        self._methods: dict[Any, str] = {}
        self._asked: dict[str, asyncio.Future[Any]] = {}
        self._questions = 0

    # what comes in

    def receive(self, body: bytes) -> None:
        """Handle one message: answered if it is a request, whatever it holds."""
        try:
            message = json.loads(body)
        except (ValueError, RecursionError) as error:
            self.refuse(None, fault(faults.PARSE_ERROR, f"This is no JSON: {error}"))
            return
        if not isinstance(message, dict) or message.get("jsonrpc") != self.VERSION:
            known = message.get("id") if isinstance(message, dict) else None
            self.refuse(
                known if _is_id(known) else None,
                fault(faults.INVALID_REQUEST, "This is no message of JSON-RPC 2.0."),
            )
        elif "method" not in message:
            self._take_response(message)
        elif not isinstance(message["method"], str):
            self.refuse(
                message.get("id") if _is_id(message.get("id")) else None,
                fault(faults.INVALID_REQUEST, "The method is no text."),
            )
        elif "id" in message:
            self._take_request(message)
        else:
            self._take_notification(message)

    def refuse(self, msg_id: str | int | None, error: Fault) -> None:
        """Answer a request with an error."""
        self._send_data({"jsonrpc": self.VERSION, "id": msg_id, "error": error})

    def _take_request(self, message: dict[str, Any]) -> None:
        msg_id, method = message["id"], message["method"]
        if not _is_id(msg_id):
            self.refuse(None, fault(faults.INVALID_REQUEST, "The id is neither text nor a whole number."))
        elif self._shutdown:
            self.refuse(msg_id, fault(faults.INVALID_REQUEST, "The server is shutting down."))
        elif not self.initialized and method != types.INITIALIZE:
            self.refuse(msg_id, fault(faults.NOT_INITIALIZED, "Send initialize first."))
        elif self.initialized and method == types.INITIALIZE:
            self.refuse(msg_id, fault(faults.INVALID_REQUEST, "The server is initialized already."))
        elif msg_id in self._request_futures:
            self.refuse(
                None, fault(faults.INVALID_REQUEST, f"A request with the id {msg_id!r} is in progress.")
            )
        elif method.startswith(OWN):
            self._take_own(msg_id, method, message.get("params"))
        else:
            self._take_standard(msg_id, method, message)

    def _take_own(self, msg_id: str | int, method: str, params: Any) -> None:
        answer = self.own.get(method)
        if answer is None:
            self.refuse(msg_id, fault(faults.METHOD_NOT_FOUND, f"There is no method {method}."))
            return
        self._methods[msg_id] = method
        flight = asyncio.ensure_future(answer(params))
        self._request_futures[msg_id] = cast("Any", flight)
        flight.add_done_callback(lambda done: self._send_handler_result(done, msg_id=msg_id))

    def _take_standard(self, msg_id: str | int, method: str, message: dict[str, Any]) -> None:
        if method not in self.fm.builtin_features and method not in self.fm.features:
            self.refuse(msg_id, fault(faults.METHOD_NOT_FOUND, f"There is no method {method}."))
            return
        try:
            structured = self._structured(message)
        except _UnfitError as unfit:
            self.refuse(msg_id, unfit.fault)
            return
        self._methods[msg_id] = method
        if method == types.INITIALIZE:
            self.initialized = True
        self.handle_message(structured)

    def _take_notification(self, message: dict[str, Any]) -> None:
        method = message["method"]
        if method == types.EXIT:
            self._server.leave(0 if self._shutdown else 1)
            return
        if not self.initialized or self._shutdown:
            return
        if method == types.CANCEL_REQUEST:
            params = message.get("params")
            self._cancel(params.get("id") if isinstance(params, dict) else None)
            return
        if method not in self.fm.builtin_features and method not in self.fm.features:
            return
        try:
            structured = self._structured(message)
        except _UnfitError as unfit:
            logger.warning(
                "%s is not as it should be and was passed over: %s", method, unfit.fault["message"]
            )
            return
        self.handle_message(structured)

    def _take_response(self, message: dict[str, Any]) -> None:
        msg_id: Any = message.get("id")
        flight = self._asked.pop(msg_id, None) if _is_id(msg_id) else None
        if flight is None or flight.done():
            return  # late, or to something never asked: nothing waits for it
        error = message.get("error")
        if isinstance(error, dict):
            refusal = JsonRpcException(
                str(error.get("message", "")), _number(error.get("code")), error.get("data")
            )
            flight.set_exception(refusal)
        else:
            flight.set_result(message.get("result"))

    def _structured(self, message: dict[str, Any]) -> Any:
        kind: Any = self.get_message_type(message["method"])
        given = message if message.get("params") is not None else {**message, "params": None}
        try:
            return self._converter.structure(given, kind)
        except BaseValidationError as error:
            said = [text.replace("$.", "").replace(" @ $", "") for text in transform_error(error)]
            raise _UnfitError(fault(faults.INVALID_PARAMS, "; ".join(said), {"faults": said})) from error
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise _UnfitError(fault(faults.INVALID_PARAMS, f"The parameters do not fit: {error}")) from error

    def _cancel(self, msg_id: Any) -> None:
        flight = self._request_futures.get(msg_id) if _is_id(msg_id) else None
        if flight is not None:
            flight.cancel()

    # what goes out

    def _send_handler_result(self, future: Any, *, msg_id: Any) -> None:
        self._request_futures.pop(msg_id, None)
        method = self._methods.pop(msg_id, "")
        if future.cancelled():
            self.refuse(msg_id, fault(faults.CANCELLED, "Cancelled."))
        elif (error := future.exception()) is not None:
            self.refuse(msg_id, faults.told(error, method))
        else:
            self._send_response(msg_id, future.result())

    def _check_handler_result(self, future: Any) -> None:
        if not future.cancelled() and (error := future.exception()) is not None:
            logger.error("a notification was not handled", exc_info=error)

    def _send_response(self, msg_id: Any, result: Any = None, error: Any = None) -> None:
        self._result_types.pop(msg_id, None)
        if error is not None:
            self.refuse(msg_id, fault(error.code, error.message))
            return
        if not _is_plain(result):
            result = self._converter.unstructure(result)
        self._send_data({"jsonrpc": self.VERSION, "id": msg_id, "result": result})

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification whose parameters are plain values; nothing is converted."""
        self._send_data({"jsonrpc": self.VERSION, "method": method, "params": params})

    async def ask(self, method: str, params: Any) -> Any:
        """Ask the client something in plain values, and return its answer as it came.

        Cancelling the wait tells the client that the answer is not needed any more.

        Raises:
            JsonRpcException: it answered with an error.
        """
        self._questions += 1
        msg_id = f"s{self._questions}"
        flight: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._asked[msg_id] = flight
        request = {"jsonrpc": self.VERSION, "id": msg_id, "method": method}
        self._send_data(request if params is None else {**request, "params": params})
        try:
            return await flight
        except asyncio.CancelledError:
            self.tell(types.CANCEL_REQUEST, {"id": msg_id})
            raise
        finally:
            self._asked.pop(msg_id, None)

    def _send_data(self, data: Any) -> None:
        if self.writer is None:
            return
        body = json.dumps(data, default=self._serialize_message, separators=(",", ":")).encode("ascii")
        try:
            self.writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        except (OSError, ValueError):  # nobody reads any more
            self.writer = None
            self._server.leave(1)

    @lsp_method(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)
    def lsp_work_done_progress_cancel(self, params: types.WorkDoneProgressCancelParams) -> None:
        """Stop what the user cancelled."""
        cancel = self._server.session.cancels.get(params.token)
        if cancel is not None:
            cancel()

    # documents are ours, see `documents`: pygls splits lines elsewhere than editors do

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        """Take an opened document."""
        self._server.session.documents.open(params.text_document)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        """Follow an edit, in the order in which edits come."""
        self._server.session.documents.change(params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        """Let a document go."""
        self._server.session.documents.close(params.text_document.uri)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def lsp_notebook_document__did_open(self, params: types.DidOpenNotebookDocumentParams) -> None:
        """Take an opened notebook."""
        self._server.session.documents.open_notebook(params)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def lsp_notebook_document__did_change(self, params: types.DidChangeNotebookDocumentParams) -> None:
        """Follow a notebook's edit."""
        self._server.session.documents.change_notebook(params)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def lsp_notebook_document__did_close(self, params: types.DidCloseNotebookDocumentParams) -> None:
        """Let a notebook go."""
        self._server.session.documents.close_notebook(params)


class _UnfitError(Exception):
    def __init__(self, told: Fault) -> None:
        super().__init__(told["message"])
        self.fault = told


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _number(value: Any) -> int:
    return value if isinstance(value, int) else faults.INTERNAL_ERROR


def _is_plain(value: Any) -> bool:
    """Tell whether a result can go out as it is; a list is told by its first item, since ours are never mixed."""
    if isinstance(value, list):
        return not value or _is_plain(value[0])
    return value is None or isinstance(value, dict | str | int | float | bool)
