internal import Lifecycle

/// Pseudo-random numbers that depend only on the seed and the arguments. So a phone's behavior depends on its
/// number and on the count of its earlier actions, but not on the order in which pushes arrive at different
/// phones.
struct StableRandom: Sendable {
    let seed: UInt64

    /// Returns a number that depends only on the seed and these three words.
    func number(for first: UInt64, and second: UInt64 = 0, with third: UInt64 = 0) -> UInt64 {
        let mixedFirst = SplitMix64.number(forState: seed &+ first)
        let mixedSecond = SplitMix64.number(forState: mixedFirst &+ second)
        return SplitMix64.number(forState: mixedSecond &+ third)
    }

    /// The choice that a random number makes. Each purpose has its own numbers, so a phone's choices are independent
    /// of each other. Add new purposes at the end: the raw value is mixed into the number, so a new case in the middle
    /// would change all phones.
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
    /// - Parameter occurrence: a number that distinguishes the choices of one phone for the same purpose.
    func fraction(for purpose: RandomPurpose, ofPhone phone: Int, occurrence: UInt64 = 0) -> Double {
        let bits = number(for: purpose.rawValue, and: UInt64(truncatingIfNeeded: phone), with: occurrence)
        // The upper 53 bits, as many as a `Double` has.
        return Double(bits >> 11) * 0x1p-53
    }

    /// Returns true with this probability, from 0 to 1.
    func happens(
        withProbability probability: Double, for purpose: RandomPurpose, ofPhone phone: Int,
        occurrence: UInt64 = 0
    ) -> Bool {
        // The usual values 0 and 1 need no calculation.
        if probability <= 0 { return false }
        if probability >= 1 { return true }
        return fraction(for: purpose, ofPhone: phone, occurrence: occurrence) < probability
    }
}
