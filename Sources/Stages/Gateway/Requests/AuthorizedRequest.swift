package import CatalogRecords
internal import HTTPServer

/// An admitted request with its body. Its holder must answer exactly once through `reply`.
struct AuthorizedRequest: Sendable {
    let request: HTTPRequest
    let caller: RequestCaller
    let reply: HTTPReply
}

/// The caller of a request that `Authorization` has admitted.
package struct RequestCaller: Sendable {
    let key: APIKey
    /// The app of the key.
    let app: App
    /// The client's IP address (`ClientAddressResolver`).
    let address: String
    /// The `PeerNetwork` of the address, by which its rates are counted. Nil for a key with the role `send`, whose
    /// requests only the key's rates limit, because a backend sends all of them from one address.
    let countedPeer: String?

    /// - Parameter peer: The `PeerNetwork` of the address.
    package init(key: APIKey, app: App, address: String, peer: String) {
        (self.key, self.app, self.address) = (key, app, address)
        countedPeer = key.role.includes(.send) ? nil : peer
    }
}
