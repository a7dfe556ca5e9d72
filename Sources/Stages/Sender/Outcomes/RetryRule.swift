internal import APNs
internal import LiveActivity

/// The decision about a job whose push has ended.
enum RetryDecision: Sendable, Hashable {
    case accepted
    /// The job ends. The token is reported as dead if it is.
    case rejected(isDead: Bool)
    /// The job ends as a dead letter, because a person should see it.
    case deadLetter(code: String)
    /// The start may have been sent, and its send forbids a second attempt.
    case unknown
    /// The job is tried again in this process after a pause.
    case again(milliseconds: Int)
    /// The job is tried again from a tier.
    case later(LaterTier, isTry: Bool)
}

/// The facts beside the answer that decide whether a job is tried again.
struct PushHistory: Sendable, Hashable {
    /// Pushes so far that count as tries, including this one.
    var tries: Int
    /// Times that the job was tried again in this process.
    var repeats = 0
    /// The tier in which the job waited because its token was refused; nil if the job did not come from a
    /// tier, or came for another reason.
    var refusedBefore: LaterTier?
    var isBreakerOpen = false
    /// Time since a push of the app was accepted; nil if none ever was.
    var millisecondsSinceAccepted: Int?
}

/// The rule that decides after an answer whether a job is tried again, and when.
enum RetryRule {
    /// Pauses between tries in this process. They are short because they hold up the partition's offset.
    static let againMilliseconds = [100, 300, 1_000]
    /// Limit of successive tries in this process. After that the job moves to a tier.
    static let againMax = againMilliseconds.count

    static func decision(
        after answer: PushAnswer, of head: SheetHead, history: PushHistory
    ) -> RetryDecision {
        let (tries, repeats) = (history.tries, history.repeats)
        switch answer.end {
        case .withdrawn: return .again(milliseconds: 0)
        case .notProcessed(.noProviderKey): return .later(.minutes2, isTry: false)
        case .notProcessed(.overdue): return .again(milliseconds: againMilliseconds[0])
        case .notProcessed: return .again(milliseconds: againMilliseconds[min(repeats, againMax - 1)])
        case .unknown:
            if head.event == .start, head.unknownStartPolicy == .skip { return .unknown }
            return retry(of: head, tries: tries, repeats: repeats, orIn: .seconds5)
        case .answered: break
        }
        switch answer.disposition {
        case nil, .requestFaulty: return .deadLetter(code: "request_faulty")
        case .accepted: return .accepted
        case .tokenGone: return .rejected(isDead: true)
        case .tokenSuspect: return tokenRefused(of: head, history: history)
        case .channelGone, .channelLimit: return .deadLetter(code: "channel_gone")
        case .appMisconfigured, .providerTokenExpired, .tooManyProviderTokens:
            return .later(.minutes2, isTry: false)
        case .connectionUnusable: return retry(of: head, tries: tries, repeats: repeats, orIn: .seconds5)
        case .tokenThrottled, .serverTrouble:
            let isLong = tries > 2 || (answer.retryAfterSeconds ?? 0) > 5
            return move(of: head, to: isLong ? .minutes2 : .seconds5, tries: tries)
        }
    }

    /// Decides about a refused token. Either APNs does not know the token, or the app's setting is wrong and
    /// every token would be refused. So the token counts as dead only if it is refused again after a tier,
    /// and if other tokens of the app were accepted in between. Then one period with a wrong setting never
    /// costs a token.
    private static func tokenRefused(of head: SheetHead, history: PushHistory) -> RetryDecision {
        if history.isBreakerOpen { return .later(.minutes2, isTry: false) }
        guard let tier = history.refusedBefore else { return .later(.seconds5, isTry: true) }
        // One second is left for the answers of pushes that left before.
        let between = tier.waitMilliseconds - 1_000
        if let accepted = history.millisecondsSinceAccepted, accepted < between {
            return .rejected(isDead: true)
        }
        // Near its deadline a job waits in the shorter tier again and again.
        let isLast = tier == .minutes2 || history.tries >= head.attemptsMax
        return isLast ? .rejected(isDead: false) : .later(.minutes2, isTry: true)
    }

    private static func retry(of head: SheetHead, tries: Int, repeats: Int, orIn tier: LaterTier)
        -> RetryDecision
    {
        if tries >= head.attemptsMax { return .deadLetter(code: "attempts_exhausted") }
        return repeats < 1
            ? .again(milliseconds: againMilliseconds[1]) : .later(tier, isTry: true)
    }

    private static func move(of head: SheetHead, to tier: LaterTier, tries: Int) -> RetryDecision {
        tries >= head.attemptsMax ? .deadLetter(code: "attempts_exhausted") : .later(tier, isTry: true)
    }
}
