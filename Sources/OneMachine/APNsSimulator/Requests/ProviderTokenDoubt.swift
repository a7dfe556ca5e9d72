/// A property of a provider token that APNs accepts although Apple's documentation forbids it. It appears in
/// the journal and never causes a refusal.
enum ProviderTokenDoubt: UInt8, Sendable {
    case fraction
    case text

    /// The doubt in words.
    var phrase: String {
        switch self {
        case .fraction: "iat of the provider token has a fraction; Apple requires whole seconds"
        case .text: "iat of the provider token is a string; Apple requires a number of seconds"
        }
    }
}
