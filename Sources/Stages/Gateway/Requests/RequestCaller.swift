internal import Catalog
internal import HTTPServer
internal import LiveActivity

/// The authenticated caller of a request.
struct RequestCaller: Sendable {
    let key: APIKey
    /// The app of the key.
    let app: App
    /// The client address, as far as the listed proxies report it.
    let address: String
}

/// The header style of a key.
enum APIKeyStyle: Sendable {
    /// `Authorization: Bearer`.
    case bearer
    /// `X-netmera-api-key`.
    case netmera

    /// The advice for a caller without a valid key.
    var remedy: String {
        switch self {
        case .bearer: "send Authorization: Bearer and a key from `flotilla keys create`"
        case .netmera: "send X-netmera-api-key and a key from `flotilla keys create`"
        }
    }
}

/// A request with its body, its caller, and the duty to answer it.
struct AuthorizedRequest: Sendable {
    let request: HTTPRequest
    let caller: RequestCaller
    let reply: HTTPReply
}
