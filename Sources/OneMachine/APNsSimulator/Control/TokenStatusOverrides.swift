internal import LiveActivity

/// Phones whose tokens can have a fixed standing (gone, expired or good) that overrides the phones' own.
/// Without phones, every other token is good.
final class TokenStatusOverrides: SimulatedPhones {
    /// Limit on tokens with a fixed standing.
    static let tokensMax = 1_000_000

    private(set) var phones: Phones?
    private var overrides: [PushToken: TokenStatus] = [:]

    init(phones: Phones?) { self.phones = phones }

    /// Removes all fixed standings and replaces the phones.
    func reset(to phones: Phones?) {
        overrides = [:]
        self.phones = phones
    }

    var readsPayloads: Bool { phones?.readsPayloads ?? false }

    /// Fixes the standing of a token. Nil removes it. Returns false at the limit.
    func setStatus(_ standing: TokenStatus?, of token: PushToken) -> Bool {
        if standing != nil, overrides[token] == nil, overrides.count >= Self.tokensMax { return false }
        overrides[token] = standing
        return true
    }

    func override(for token: PushToken) -> TokenStatus? { overrides[token] }

    func status(
        of token: PushToken, environment: Environment, bundleID: String, at time: Int64
    ) -> TokenStatus {
        if !overrides.isEmpty, let standing = overrides[token] { return standing }
        return phones?.status(of: token, environment: environment, bundleID: bundleID, at: time) ?? .valid
    }

    func deliver(_ push: AcceptedPush) { phones?.deliver(push) }
    func tick(at time: Int64) { phones?.tick(at: time) }
    func simulate(from start: Int64, to end: Int64) { phones?.simulate(from: start, to: end) }
}
