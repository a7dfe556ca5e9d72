internal import Catalog
internal import HTTPServer
internal import LiveActivity

/// Who has been let in.
struct Visitor: Sendable {
    let key: APIKey
    /// Its key's, and no other.
    let app: App
    /// Where it comes from, as far as listed proxies say.
    let address: String
}

/// How a request shows its key.
enum KeyStyle: Sendable {
    /// `Authorization: Bearer`.
    case bearer
    /// `X-netmera-api-key`.
    case netmera

    /// What to send, for whoever has sent no good key.
    var remedy: String {
        switch self {
        case .bearer: "send Authorization: Bearer and a key that `flotilla keys create` has made"
        case .netmera: "send X-netmera-api-key and a key that `flotilla keys create` has made"
        }
    }
}

/// A request with its body, who brings it, and the duty to answer.
struct Incoming: Sendable {
    let request: HTTPRequest
    let visitor: Visitor
    let reply: HTTPReply
}
