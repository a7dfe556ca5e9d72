/// The token of one request that waits for its answer. A coordinator returns it with the answer, exactly
/// once. Only `CoordinatorHost` knows the connection of the request.
struct ReplyToken: Hashable, Sendable {
    let number: UInt64

    init(_ number: UInt64) { self.number = number }
}

/// The sender of a request. A group stores the client's id and host with a member, and shows them in
/// DescribeGroups.
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
