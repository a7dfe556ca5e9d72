/// The token of one request that waits for its answer. A coordinator returns it with the answer, exactly
/// once. Only the server knows its connection.
struct ReplyToken: Hashable, Sendable {
    let number: UInt64

    init(_ number: UInt64) { self.number = number }
}

/// The sender of a request: the token for the answer, and the facts that a group shows of its members.
struct Caller: Sendable {
    let token: ReplyToken
    let clientID: String
    let clientHost: String

    init(token: ReplyToken, clientID: String = "", clientHost: String = "") {
        self.token = token
        self.clientID = clientID
        self.clientHost = clientHost
    }
}
