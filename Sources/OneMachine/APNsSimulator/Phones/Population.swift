package import Identifiers

/// The description of many phones with one app: their number, and the shares of phones with each property, from 0 to
/// 1. The seed and the phone's number decide whether a phone has a property.
package struct Population: Sendable {
    package var app: PhoneApp
    /// Number of phones.
    package var phones: Int
    /// Versions of iOS with their weights.
    package var systems: [(system: OSVersion, weight: Double)] = [
        (Population.newestSystem, 40), (OSVersion(18, 6), 40), (OSVersion(17, 6), 14), (OSVersion(16, 7), 6),
    ]
    /// If not empty, replaces `systems`: the versions are assigned to the phones in turn.
    package var systemsInTurn: [OSVersion] = []
    /// Share of phones whose app uses the sandbox environment of APNs.
    package var sandboxShare = 0.0
    /// If not empty, replaces `sandboxShare`: the environments are assigned to the phones in turn.
    package var environmentsInTurn: [Environment] = []
    /// Share of phones with a known user. The others are installations only.
    package var userShare = 1.0
    /// Number of consecutive phones that belong to the same user.
    package var phonesPerUser = 1
    /// Share of phones whose user allows frequent updates.
    package var frequentUpdatesShare = 0.5
    /// Share of phones whose user has switched Live Activities off.
    package var switchedOffShare = 0.0
    /// Share of phones that are away at first.
    package var awayShare = 0.0
    /// Longest time until a phone that is away returns.
    package var awayMilliseconds: Int64 = 3_600_000
    /// Locales, each for an equal share of the phones.
    package var locales = ["en_GB"]
    /// Tags, with the share of phones that have them.
    package var tags: [(name: String, share: Double)] = []

    package static let newestSystem = OSVersion(26, 1)

    package init(of app: PhoneApp, phones: Int) {
        self.app = app
        self.phones = phones
    }
}
