internal import LiveActivity

/// Phones whose tokens can have a fixed standing (gone, expired or good) that overrides the phones' own.
/// Without phones, every other token is good.
final class TokenStandings: SimulatedPhones {
    /// Limit on tokens with a fixed standing.
    static let tokensMax = 1_000_000

    private(set) var phones: Phones?
    private var said: [PushToken: TokenStanding] = [:]

    init(before phones: Phones?) { self.phones = phones }

    /// Removes all fixed standings and replaces the phones.
    func begin(with phones: Phones?) {
        said = [:]
        self.phones = phones
    }

    var readsPayloads: Bool { phones?.readsPayloads ?? false }

    /// Fixes the standing of a token. Nil removes it. Returns false at the limit.
    func say(_ standing: TokenStanding?, of token: PushToken) -> Bool {
        if standing != nil, said[token] == nil, said.count >= Self.tokensMax { return false }
        said[token] = standing
        return true
    }

    func said(of token: PushToken) -> TokenStanding? { said[token] }

    func standing(
        of token: PushToken, environment: Environment, bundleID: String, at time: Int64
    ) -> TokenStanding {
        if !said.isEmpty, let standing = said[token] { return standing }
        return phones?.standing(of: token, environment: environment, bundleID: bundleID, at: time) ?? .good
    }

    func deliver(_ push: AcceptedPush) { phones?.deliver(push) }
    func tick(at time: Int64) { phones?.tick(at: time) }
    func live(from start: Int64, to end: Int64) { phones?.live(from: start, to: end) }
}
