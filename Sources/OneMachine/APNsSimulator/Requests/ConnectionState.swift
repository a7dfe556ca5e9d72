internal import APNs

/// The provider that a connection is bound to, and its stream allowance, which depends on its errors. It is a
/// value: the connection carries out the actions.
struct ConnectionState {
    /// Minimum age difference of two provider tokens on a connection. A newer token is refused earlier.
    static let providerTokenGapSecondsMin: Int64 = 1_200

    enum StreamAction: Equatable {
        case none
        case allow(streams: Int)
        /// Too many errors: send GOAWAY and close.
        case close
    }

    private let settings: StreamSettings
    private(set) var provider: VerifiedProviderToken?
    private(set) var streams: Int
    /// Whether a fault has fixed the number of streams.
    var isFixed = false
    private var errorPoints = 0
    private var pointsAtHalving: Int

    init(settings: StreamSettings) {
        self.settings = settings
        streams = min(settings.initialStreams, settings.streamsMax)
        pointsAtHalving = settings.pointsPerHalving
    }

    /// Binds the connection to its first provider. A later provider must use the same key.
    mutating func bind(to next: VerifiedProviderToken) -> APNsReason? {
        guard let provider, provider !== next else {
            provider = next
            return nil
        }
        guard next.key.keyID == provider.key.keyID, next.key.teamID == provider.key.teamID else {
            return .unrelatedKeyID
        }
        guard abs(next.issuedAt - provider.issuedAt) >= Self.providerTokenGapSecondsMin else {
            return .tooManyProviderTokenUpdates
        }
        self.provider = next
        return nil
    }

    /// Counts an answer and returns the action that follows.
    mutating func recordAnswer(status: Int, isBadToken: Bool) -> StreamAction {
        switch status {
        case 200...299:
            errorPoints = max(0, errorPoints - 1)
            return raiseAllowance()
        case 410: return .none
        case 400...499:
            errorPoints += isBadToken ? settings.badTokenPoints : 1
            return lowerAllowance()
        default: return .none
        }
    }

    private mutating func raiseAllowance() -> StreamAction {
        if !isFixed, streams < settings.streamsMax, provider != nil, errorPoints == 0 {
            streams = settings.streamsMax
            pointsAtHalving = settings.pointsPerHalving
            return .allow(streams: streams)
        }
        return .none
    }

    private mutating func lowerAllowance() -> StreamAction {
        if errorPoints >= settings.pointsMax { return .close }
        guard errorPoints >= pointsAtHalving, streams > 1, !isFixed else { return .none }
        pointsAtHalving = errorPoints + settings.pointsPerHalving
        streams /= 2
        return .allow(streams: streams)
    }
}
