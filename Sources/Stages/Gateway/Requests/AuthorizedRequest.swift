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
}
