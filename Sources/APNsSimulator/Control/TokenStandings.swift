internal import LiveActivity

/// Phones of which a person says what has become of some tokens: gone, expired, or good after all,
/// whatever the phones themselves would say. Without phones behind it, every other token is good.
final class TokenStandings: SimulatedPhones {
    /// Tokens that something is said of; one more is refused.
    static let tokensMax = 1_000_000

    private(set) var phones: Phones?
    private var said: [PushToken: TokenStanding] = [:]

    init(before phones: Phones?) { self.phones = phones }

    /// Nothing is said of any token, and these are the phones.
    func begin(with phones: Phones?) {
        said = [:]
        self.phones = phones
    }

    var readsPayloads: Bool { phones?.readsPayloads ?? false }

    /// Nil takes back what was said. False when it would be of one token too many.
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
