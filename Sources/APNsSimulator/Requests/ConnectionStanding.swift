internal import APNs

/// What a connection has committed itself to, and how it behaves: the provider of its first push,
/// and the streams that it is allowed. A value: what it says is for the connection to do.
struct ConnectionStanding {
    /// A newer provider token than this one's is refused so soon after it.
    static let providerSecondsMin: Int64 = 1_200

    enum Action: Equatable {
        case none
        case allow(streams: Int)
        /// Too many errors: GOAWAY, then the end.
        case end
    }

    private let settings: StreamSettings
    private(set) var provider: Provider?
    private(set) var streams: Int
    /// Misbehaviour has chosen the streams: they stay as they are.
    var isFixed = false
    private var points = 0
    private var pointsAtHalving: Int

    init(_ settings: StreamSettings) {
        self.settings = settings
        streams = min(settings.atFirst, settings.most)
        pointsAtHalving = settings.pointsPerHalving
    }

    /// Binds the connection to its first provider; a later one must be of the same key.
    mutating func commit(to next: Provider) -> Reason? {
        guard let provider, provider !== next else {
            provider = next
            return nil
        }
        guard next.key.keyID == provider.key.keyID, next.key.teamID == provider.key.teamID else {
            return .unrelatedKeyID
        }
        guard abs(next.issuedAt - provider.issuedAt) >= Self.providerSecondsMin else {
            return .tooManyProviderTokenUpdates
        }
        self.provider = next
        return nil
    }

    /// A request was answered.
    mutating func answered(_ status: Int, isBadToken: Bool) -> Action {
        switch status {
        case 200...299:
            points = max(0, points - 1)
            return allowMore()
        case 410: return .none
        case 400...499:
            points += isBadToken ? settings.badTokenPoints : 1
            return allowLess()
        default: return .none
        }
    }

    private mutating func allowMore() -> Action {
        if !isFixed, streams < settings.most, provider != nil, points == 0 {
            streams = settings.most
            pointsAtHalving = settings.pointsPerHalving
            return .allow(streams: streams)
        }
        return .none
    }

    private mutating func allowLess() -> Action {
        if points >= settings.pointsMax { return .end }
        guard points >= pointsAtHalving, streams > 1, !isFixed else { return .none }
        pointsAtHalving = points + settings.pointsPerHalving
        streams /= 2
        return .allow(streams: streams)
    }
}
