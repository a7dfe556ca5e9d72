/// Stands for one request that waits for its answer. The core hands it back with the answer, exactly
/// once; whose connection it was, and whether that still lives, is known to the server alone.
struct ReplyToken: Hashable, Sendable {
    let number: UInt64

    init(_ number: UInt64) { self.number = number }
}

/// Who asks: the token for the answer, and what a group shows of its members.
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
