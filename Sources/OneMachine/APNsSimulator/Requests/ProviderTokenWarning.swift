/// A property of a provider token that APNs accepts although Apple's documentation forbids it. It appears in
/// the journal and never causes a refusal.
enum ProviderTokenWarning: UInt8, Sendable {
    case fraction
    case string

    /// The doubt in words.
    var message: String {
        switch self {
        case .fraction: "iat of the provider token has a fraction; Apple requires whole seconds"
        case .string: "iat of the provider token is a string; Apple requires a number of seconds"
        }
    }
}
