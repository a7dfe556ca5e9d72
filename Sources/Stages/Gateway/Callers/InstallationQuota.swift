internal import Lifecycle

/// The quota of new installations for each address. An app's `report` key is in its binary, so anyone can invent
/// installations, and ingest keeps each of them for weeks.
///
/// A gateway has no registry. An installation is new at an address if this gateway has seen no report of it from
/// there for an hour. `RecentPairs` remembers the installations that this gateway has seen, so the address of a known
/// phone is never charged again.
struct InstallationQuota {
    private static let windowMilliseconds = 3_600_000

    private var knownPairs: RecentPairs
    private var limiter: RateLimiter

    init(perPeerAndHour countMax: Int, now: Instant) {
        knownPairs = RecentPairs(windowMilliseconds: Self.windowMilliseconds, now: now)
        limiter = RateLimiter(
            countMax: countMax, windowMilliseconds: Self.windowMilliseconds,
            entriesMax: GatewayLimits.peersCountedMax, now: now)
    }

    /// Charges the address if the installation is new there. Returns the limit if the quota is used up.
    ///
    /// - Parameters:
    ///   - installation: The hash of the installation.
    ///   - peer: The `PeerNetwork` of the address.
    mutating func charge(installation: Int, at peer: String, now: Instant) -> ExceededLimit? {
        let pair = Self.hash(installation: installation, peer: peer)
        if knownPairs.contains(pair, now: now) { return nil }
        if let wait = limiter.charge(to: peer, now: now) {
            return ExceededLimit(
                limit: .peerInstallations, countMax: limiter.countMax, waitMilliseconds: wait)
        }
        knownPairs.insert(pair)
        return nil
    }

    private static func hash(installation: Int, peer: String) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(installation)
        hasher.combine(peer)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }
}
