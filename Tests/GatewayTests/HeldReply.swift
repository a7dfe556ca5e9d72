@testable import HTTPServer

/// A reply of a request without a connection. The test looks at its response.
struct HeldReply {
    let reply: HTTPReply
    private let slot: ReplySlot

    init() {
        slot = ReplySlot {}
        reply = HTTPReply(slot: slot)
    }

    /// The response that was sent, or nil.
    var response: HTTPResponse? { slot.response }
}
