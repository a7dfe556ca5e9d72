internal import APNs
internal import Jobs
internal import Payloads
internal import Sends

/// The decision about a job whose push has ended (`RetryRule`).
enum RetryDecision: Sendable, Hashable {
    case accepted
    /// The job ends, because APNs refused it. If `isDead`, the token is also reported as dead.
    case rejected(isDead: Bool)
    /// The job ends as a dead letter, because a person should see it.
    case deadLetter(code: String)
    /// The start may have been sent, and its send forbids a second try.
    case unknown
    /// The push was withdrawn, because its lane is given up. The next owner of the lane has the job.
    case leaveToNextOwner
    /// The job is tried again in this process after a pause.
    case retryHere(afterMilliseconds: Int, countsAsTry: Bool)
    /// The job is tried again from a tier: a topic in which jobs wait 5 s or 2 min.
    case retryInTier(LaterTier, countsAsTry: Bool)
}

/// The history of a job and its app: the facts beside the answer that decide whether the job is tried again.
struct PushHistory: Sendable, Hashable {
    /// Number of pushes that count as tries, including the one that has ended.
    var tries: Int
    /// Number of these tries in this process.
    var triesHere = 0
    /// Number of pauses after which the job was pushed again in this process.
    var pausesHere = 0
    /// The tier in which the job waited after a refusal of its token. Nil if the job did not wait in a tier, or waited
    /// for another reason.
    var tierAfterRefusal: LaterTier?
    var isBreakerOpen = false
    /// Time since a push of the app was accepted; nil if none ever was.
    var millisecondsSinceAccepted: Int?
}

/// The rule that decides after the end of a push whether the job is tried again, and when.
///
/// A try is a push that may have arrived, unless the fault was in the app's settings. A job has a limited number of
/// tries.
///
/// A retry in this process is quick, but it holds up the offset of the partition. If it is unknown whether the push
/// arrived, or if the connection cannot be used any more, the job is tried again here only once, and then from a tier.
/// A job that APNs did not process is tried again here without a limit, because it usually leaves by another
/// connection. If it holds up the offset for too long, its sheet moves to a tier (`SheetEviction`).
enum RetryRule {
    /// The pauses before a job that APNs did not process is pushed again in this process. The last one is for all later
    /// pauses of the job too.
    private static let pausesMilliseconds = [100, 300, 1_000]
    /// The pause before a job is pushed again in this process because its end is unknown, or because its connection
    /// became unusable.
    private static let pauseBeforeRetryHereMilliseconds = 300
    /// Limit of tries in this process: the first push, and one more. After that the job moves to a tier.
    private static let triesHereMax = 2
    /// Up to this number of tries, a job waits in the short tier if APNs throttles its token or answers with a server error.
    /// After more tries it waits in the long tier.
    private static let triesInShortTierMax = 2

    /// Decides about a job whose push has ended.
    static func decision(
        after answer: PushAnswer, of head: SheetHead, history: PushHistory
    ) -> RetryDecision {
        switch answer.end {
        case .withdrawn: .leaveToNextOwner
        // A person has to install the key first.
        case .notProcessed(.noProviderKey): .retryInTier(.minutes2, countsAsTry: false)
        // The push has already waited for several seconds on a connection that did not send it, so it waits only for
        // the shortest pause.
        case .notProcessed(.overdue):
            .retryHere(afterMilliseconds: pausesMilliseconds[0], countsAsTry: false)
        case .notProcessed:
            .retryHere(
                afterMilliseconds: pauseMilliseconds(after: history.pausesHere), countsAsTry: false)
        case .unknown: decisionAfterUnknown(of: head, history: history)
        case .answered: decision(afterResponse: answer, of: head, history: history)
        }
    }

    private static func pauseMilliseconds(after earlierPauses: Int) -> Int {
        pausesMilliseconds[min(earlierPauses, pausesMilliseconds.count - 1)]
    }

    private static func decisionAfterUnknown(of head: SheetHead, history: PushHistory) -> RetryDecision {
        let mustNotRepeat = head.event == .start && head.unknownStartPolicy == .skip
        return mustNotRepeat ? .unknown : retryHereOrInShortTier(of: head, history: history)
    }

    private static func decision(
        afterResponse answer: PushAnswer, of head: SheetHead, history: PushHistory
    ) -> RetryDecision {
        switch answer.disposition {
        case nil: preconditionFailure("an answered push has a disposition")
        case .requestFaulty: return .deadLetter(code: "request_faulty")
        case .accepted: return .accepted
        case .tokenGone: return DeadTokenRule.decision(isTokenGone: true, for: head, history: history)
        case .tokenSuspect: return DeadTokenRule.decision(isTokenGone: false, for: head, history: history)
        // A channel beyond the app's limit has the same code as a missing one.
        case .channelGone, .channelLimit: return .deadLetter(code: "channel_gone")
        // The answer says nothing about the job: a person has to correct the settings, or the provider token has to
        // change. So it does not count as a try, and only the job's deadline ends the retries.
        case .appMisconfigured, .providerTokenExpired, .tooManyProviderTokens:
            return .retryInTier(.minutes2, countsAsTry: false)
        case .connectionUnusable: return retryHereOrInShortTier(of: head, history: history)
        case .tokenThrottled, .serverTrouble:
            let shortWaitSeconds = LaterTier.seconds5.waitMilliseconds / 1000
            let demandsLongWait = (answer.retryAfterSeconds ?? 0) > shortWaitSeconds
            let mustWaitLong = demandsLongWait || history.tries > triesInShortTierMax
            return retryInTierOrEnd(mustWaitLong ? .minutes2 : .seconds5, of: head, history: history)
        }
    }

    /// Returns the decision to try the job again: once in this process, and after that from the short tier.
    private static func retryHereOrInShortTier(of head: SheetHead, history: PushHistory) -> RetryDecision {
        guard history.triesHere < triesHereMax, history.tries < head.triesMax else {
            return retryInTierOrEnd(.seconds5, of: head, history: history)
        }
        return .retryHere(afterMilliseconds: pauseBeforeRetryHereMilliseconds, countsAsTry: true)
    }

    /// Returns the decision to try the job again from a tier, or to end it if it has used up its tries.
    private static func retryInTierOrEnd(
        _ tier: LaterTier, of head: SheetHead, history: PushHistory
    ) -> RetryDecision {
        // "attempts" in the dead letter's code means tries. Programs read the code, so it keeps its name.
        history.tries >= head.triesMax
            ? .deadLetter(code: "attempts_exhausted") : .retryInTier(tier, countsAsTry: true)
    }
}
