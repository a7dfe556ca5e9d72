internal import Foundation

/// The result of one freshness run: how old the states on the phones were. A pass is one delivery to every
/// phone.
struct Freshness: Sendable {
    /// The share of the written jobs that APNs accepted.
    var share = 0.0
    /// The pushes per second that APNs accepted.
    var rate = 0.0
    /// The seconds of one pass at this rate.
    var passSeconds = 0.0
    /// The seconds from the last update until the last phone that got it. The run without conflation does not
    /// wait for all phones.
    var newestAfterSeconds = 0.0
    /// The longest time that a phone got nothing, in passes.
    var longestGapPasses = 0.0
    /// The age of the phones' states when the last update was written: mean and maximum over all phones.
    var behindSecondsMean = 0.0
    var behindSecondsMax = 0.0
    /// The jobs whose receipt says that a newer update replaced them.
    var supersededJobs = 0
    /// The phones that did not get the last update.
    var unfinishedPhones = 0

    var summary: String {
        let duringUpdates = String(
            format:
                "APNs took %.2f of the jobs, a pass takes %.1f s; at the last update the phones were %.1f s behind in "
                + "the mean, %.1f s at most; the longest without news %.2f passes", share, passSeconds,
            behindSecondsMean,
            behindSecondsMax, longestGapPasses)
        let afterLastUpdate =
            unfinishedPhones == 0
            ? String(format: "all had it %.1f s after", newestAfterSeconds)
            : "\(grouped(Double(unfinishedPhones))) did not have it a pass later"
        return
            "\(duringUpdates); \(afterLastUpdate); \(grouped(Double(supersededJobs))) receipted as superseded"
    }
}
