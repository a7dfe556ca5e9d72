internal import Lifecycle

/// Pseudo-random numbers that depend only on the seed and the arguments. So a phone's behavior depends on its
/// number and on the count of its earlier actions, but not on the order in which pushes arrive at different
/// phones.
struct StableRandom: Sendable {
    let seed: UInt64

    /// Returns a number mixed from the arguments.
    func number(for a: UInt64, and b: UInt64 = 0, with c: UInt64 = 0) -> UInt64 {
        SplitMix64.number(
            forState: SplitMix64.number(forState: SplitMix64.number(forState: seed &+ a) &+ b) &+ c)
    }

    /// The choice that a number is for. It makes a phone's choices independent of each other.
    enum RandomPurpose: UInt64 {
        case system = 1
        case environment
        case user
        case locale
        case frequentUpdates
        case switchedOff
        case away
        case tag
        case updateToken
        case updateTokenDelay
        case startTokenRotation
        case stateReport
        case activityID
    }

    /// Returns a number from 0 to below 1.
    func fraction(for purpose: RandomPurpose, ofPhone phone: Int, occurrence: UInt64 = 0) -> Double {
        Double(number(for: purpose.rawValue, and: UInt64(truncatingIfNeeded: phone), with: occurrence) >> 11)
            * 0x1p-53
    }

    /// Returns true for this share of all phones and occurrences.
    func happens(
        withProbability share: Double, for purpose: RandomPurpose, ofPhone phone: Int, occurrence: UInt64 = 0
    ) -> Bool {
        share >= 1 || (share > 0 && fraction(for: purpose, ofPhone: phone, occurrence: occurrence) < share)
    }
}
