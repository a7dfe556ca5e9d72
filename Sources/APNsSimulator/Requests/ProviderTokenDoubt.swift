/// What APNs takes in a provider token although Apple asks for something else: told in the journal,
/// never a refusal.
enum ProviderTokenDoubt: UInt8, Sendable {
    case fraction
    case text

    /// As people read it.
    var phrase: String {
        switch self {
        case .fraction: "iat of the provider token has a fraction; Apple asks for whole seconds"
        case .text: "iat of the provider token is a text; Apple asks for a number of seconds"
        }
    }
}
