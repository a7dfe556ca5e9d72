internal import APNs
internal import HTTP2

/// One request as it came: its parts are ranges of `bytes`, which belong to its batch and must not be
/// kept beyond it.
struct ReceivedRequest {
    let bytes: [UInt8]
    let method: Range<Int>
    let path: RequestPath
    /// Not a range of the batch: it may be kept.
    let body: [UInt8]
    let headers: RequestHeaders
    /// There was more of the body than any push may have.
    let bodyIsCut: Bool
    /// Answered with apns-id and not with apns-request-id.
    let isDirect: Bool
    /// Of the answer: the request's own where it brought a good one.
    let id: PushID
    /// What it brought in the place of an id is none.
    let hasBadID: Bool

    /// - Parameters:
    ///   - body: what the batch has as its body.
    ///   - makeID: for a request that brings none.
    init(
        _ batch: RequestBatch, _ request: IncomingRequest, on port: ServedPort, body: [UInt8],
        makeID: () -> PushID
    ) {
        bytes = batch.bytes
        method = request.method
        path = RequestPath(batch.bytes, request.path)
        self.body = body
        headers = RequestHeaders(batch, request)
        bodyIsCut = request.bodyIsCut
        isDirect = port.kind == .push && !path.isBroadcast
        let text = isDirect ? headers.id : headers.requestID
        let given = text.flatMap { PushID(canonical: batch.bytes.span.extracting($0)) }
        id = given ?? makeID()
        hasBadID = text != nil && given == nil
    }

    func isMethod(_ name: StaticString) -> Bool { Text.equal(bytes.span.extracting(method), name) }
}
