/// The token of one request that waits for its answer. A coordinator returns it with the answer, exactly
/// once. Only `CoordinatorHost` knows the connection of the request.
package struct ReplyToken: Hashable, Sendable {
    package let number: UInt64

    package init(_ number: UInt64) { self.number = number }
}

/// The sender of a request. A group stores the client's id and host with a member, and shows them in
/// DescribeGroups.
package struct Caller: Sendable {
    package let token: ReplyToken
    package let clientID: String
    package let clientHost: String

    package init(token: ReplyToken, clientID: String = "", clientHost: String = "") {
        self.token = token
        self.clientID = clientID
        self.clientHost = clientHost
    }
}
