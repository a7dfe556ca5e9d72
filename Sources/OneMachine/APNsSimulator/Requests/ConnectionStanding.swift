internal import APNs

/// The provider that a connection is bound to, and its stream allowance, which depends on its errors. It is a
/// value: the connection carries out the actions.
struct ConnectionStanding {
    /// Minimum age difference of two provider tokens on a connection. A newer token is refused earlier.
    static let providerSecondsMin: Int64 = 1_200

    enum Action: Equatable {
        case none
        case allow(streams: Int)
        /// Too many errors: send GOAWAY and close.
        case end
    }

    private let settings: StreamSettings
    private(set) var provider: Provider?
    private(set) var streams: Int
    /// Whether a fault has fixed the number of streams.
    var isFixed = false
    private var points = 0
    private var pointsAtHalving: Int

    init(_ settings: StreamSettings) {
        self.settings = settings
        streams = min(settings.atFirst, settings.most)
        pointsAtHalving = settings.pointsPerHalving
    }

    /// Binds the connection to its first provider. A later provider must use the same key.
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

    /// Counts an answer and returns the action that follows.
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
