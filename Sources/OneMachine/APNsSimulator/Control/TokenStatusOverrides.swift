internal import Identifiers

/// The phones of a simulator, with statuses of single tokens that an operator has fixed (`TokenRoutes`). A fixed
/// status overrides the one that the phones give. Without phones, every other token is valid.
final class TokenStatusOverrides: SimulatedPhones {
    /// Limit on tokens with a fixed status.
    static let tokensMax = 1_000_000

    private(set) var phones: Phones?
    private var overrides: [PushToken: TokenStatus] = [:]

    init(phones: Phones?) { self.phones = phones }

    /// Removes all fixed statuses and replaces the phones.
    func reset(to phones: Phones?) {
        overrides = [:]
        self.phones = phones
    }

    /// Fixes the status of a token. Nil releases it. Returns false at the limit.
    func setStatus(_ status: TokenStatus?, of token: PushToken) -> Bool {
        let isNew = status != nil && overrides[token] == nil
        if isNew, overrides.count >= Self.tokensMax { return false }
        overrides[token] = status
        return true
    }

    /// Returns the fixed status of a token.
    func override(for token: PushToken) -> TokenStatus? { overrides[token] }

    // MARK: SimulatedPhones

    var readsPayloads: Bool { phones?.readsPayloads ?? false }

    func status(
        of token: PushToken, environment: Environment, bundleID: String, at time: Int64
    ) -> TokenStatus {
        if !overrides.isEmpty, let status = overrides[token] { return status }
        return phones?.status(of: token, environment: environment, bundleID: bundleID, at: time) ?? .valid
    }

    func deliver(_ push: AcceptedPush) { phones?.deliver(push) }
    func tick(at time: Int64) { phones?.tick(at: time) }
    func simulate(from start: Int64, to end: Int64) { phones?.simulate(from: start, to: end) }
}
