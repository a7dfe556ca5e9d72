/// A deviation in `iat`, the issue time of a provider token: APNs accepts it, although Apple's documentation
/// forbids it. It appears in the journal and never causes a refusal.
enum ProviderTokenWarning: Sendable {
    case issuedAtIsFractional
    case issuedAtIsText

    /// The warning in words, for the journal.
    var message: String {
        switch self {
        case .issuedAtIsFractional: "iat of the provider token has a fraction; Apple requires whole seconds"
        case .issuedAtIsText: "iat of the provider token is a string; Apple requires a number of seconds"
        }
    }
}
