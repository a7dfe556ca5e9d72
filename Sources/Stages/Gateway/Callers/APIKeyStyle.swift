/// The header in which a route expects the key.
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
