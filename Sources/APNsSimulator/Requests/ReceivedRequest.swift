internal import HTTP2

/// One request as it came: its parts are ranges of `bytes`, which belong to its batch and must not be
/// kept beyond it.
struct ReceivedRequest {
    let bytes: [UInt8]
    let method: Range<Int>
    let path: Range<Int>
    let body: Range<Int>
    let headers: RequestHeaders
    /// There was more of the body than any push may have.
    let bodyIsCut: Bool

    init(_ batch: RequestBatch, _ request: IncomingRequest) {
        bytes = batch.bytes
        method = batch.method(of: request).indices
        path = batch.path(of: request).indices
        body = batch.body(of: request).indices
        headers = RequestHeaders(batch, request)
        bodyIsCut = request.bodyIsCut
    }

    func isMethod(_ name: StaticString) -> Bool { Text.equal(bytes.span.extracting(method), name) }

    /// The range of the id that the answer repeats: apns-id for a push, apns-request-id otherwise.
    func idRange(isDirect: Bool) -> Range<Int>? { isDirect ? headers.id : headers.requestID }
}
