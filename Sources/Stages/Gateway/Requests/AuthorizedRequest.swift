internal import CatalogRecords
internal import HTTPServer

/// An admitted request with its body. Its holder must answer exactly once through `reply`.
struct AuthorizedRequest: Sendable {
    let request: HTTPRequest
    let caller: RequestCaller
    let reply: HTTPReply
}

/// The caller of a request that `Authorization` has admitted.
struct RequestCaller: Sendable {
    let key: APIKey
    /// The app of the key.
    let app: App
    /// The client address, as far as the listed proxies report it.
    let address: String
    /// The address, or its IPv6 network (`PeerNetwork`), if limits of addresses apply to the caller. A backend sends
    /// all of its requests from one address, so they do not apply to keys with the role send.
    let countedPeer: String?

    /// - Parameter peer: The `PeerNetwork` of the address.
    init(key: APIKey, app: App, address: String, peer: String) {
        (self.key, self.app, self.address) = (key, app, address)
        countedPeer = key.role.includes(.send) ? nil : peer
    }
}
