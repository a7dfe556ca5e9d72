internal import Foundation

/// The result of one freshness run (`FreshnessRun`): how old the states on the phones were while updates were written
/// faster than APNs took the pushes.
///
/// A pass is the time that APNs needs for one push to every phone, at the measured rate.
struct Freshness: Sendable {
    /// The pushes per second that APNs accepted while updates were written.
    var rate = 0.0
    /// This rate as a share of the jobs written per second.
    var share = 0.0
    var passSeconds = 0.0
    /// The longest time without a push to a phone while updates were written, in passes.
    var longestGapPasses = 0.0

    // The time since the state of a phone was replaced by a newer update, when the last update was written. Mean and
    // maximum over all phones.
    var behindSecondsMean = 0.0
    var behindSecondsMax = 0.0

    /// The time from the write of the last update to its last delivery. It has a meaning only if all phones got it.
    var newestAfterSeconds = 0.0
    /// The phones without the last update at the end of the run.
    var unfinishedPhones = 0
    /// The jobs whose receipt says that a newer update replaced them.
    var supersededJobs = 0

    /// The result in one line.
    var summary: String {
        let rateText =
            "APNs took \(format(share, decimals: 2)) of the jobs, a pass takes \(format(passSeconds, decimals: 1)) s"
        let ageText =
            "at the last update the phones were \(format(behindSecondsMean, decimals: 1)) s behind in the mean, "
            + "\(format(behindSecondsMax, decimals: 1)) s at most"
        let gapText = "the longest without a push \(format(longestGapPasses, decimals: 2)) passes"
        let lastUpdateText =
            unfinishedPhones == 0
            ? "all had it \(format(newestAfterSeconds, decimals: 1)) s after"
            : "\(grouped(Double(unfinishedPhones))) did not have it a pass later"
        let supersededText = "\(grouped(Double(supersededJobs))) receipted as superseded"
        return "\(rateText); \(ageText); \(gapText); \(lastUpdateText); \(supersededText)"
    }

    private func format(_ number: Double, decimals: Int) -> String {
        String(format: "%.\(decimals)f", number)
    }
}
