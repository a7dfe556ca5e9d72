internal import Catalog
internal import JSON
internal import LiveActivity
internal import Telemetry

/// A check that turns a draft into a send or reports every problem of the draft. It does no I/O.
///
/// The judge resolves everything that depends on the catalog, so that later stages can act on the send
/// without it.
struct SendValidator {
    /// The largest distance of an activity's end date from now. One activity lives for eight hours, but a
    /// group may outlive several activities.
    static let endDateSecondsMax: Int64 = 30 * 86_400
    /// The largest distance of a deadline from now. Jobs are kept for a day, so a later deadline cannot be
    /// honored.
    static let deadlineSecondsMax: Int64 = 20 * 3600

    let app: App
    let catalog: CatalogSnapshot
    let now: WallTime
    let fields: SendFields

    struct ValidatedSend {
        var send: Send
        let key: ScopeKey
        /// The size of the APNs payload.
        let bytes: Int
        let warnings: [RequestProblem]
    }

    /// Returns the send, or throws every problem of the draft.
    ///
    /// - Parameter read: The problems that were found while the draft was read. If one of them concerns a
    ///   field, no other problem of that field is reported.
    func validate(_ draft: SendDraft, afterReading read: [RequestProblem]) throws(RefusedRequest)
        -> ValidatedSend
    {
        // If the draft names something unknown, its content is not known either and cannot be checked.
        if draft.problems.contains(where: \.isUnknown) { throw RefusedRequest(read + draft.problems) }
        var validation = SendValidation(judge: self, draft: draft, read: read)
        let type = validation.activityType()
        let owner = validation.owner(for: type)
        let send = validation.makeSend(type: type, owner: owner)
        validation.checkSegments()
        validation.checkDates()
        let bytes = validation.checkPayload(for: type)
        guard validation.problems.isEmpty, let send, let key = send.scopeKey else {
            // A send without a key has a problem, so this fallback only keeps the error non-empty.
            throw RefusedRequest(
                validation.problems.isEmpty
                    ? [RequestProblem(code: "invalid", at: "", message: "names no group")]
                    : validation.problems)
        }
        return ValidatedSend(send: send, key: key, bytes: bytes, warnings: validation.warnings(for: type))
    }
}

private struct SendValidation {
    let validator: SendValidator
    let draft: SendDraft
    var problems: [RequestProblem]
    private let reportedFields: [String]
    private var fields: SendFields { validator.fields }
    /// The time at which the send is delivered, in seconds. Dates are compared with it.
    private var dueSeconds: Int64 { (draft.time?.due(now: validator.now) ?? validator.now).seconds }
    private var event: PushEvent { draft.content.event }

    init(judge: SendValidator, draft: SendDraft, read: [RequestProblem]) {
        self.validator = judge
        self.draft = draft
        problems = read + draft.problems
        reportedFields = read.map(\.field)
    }

    private mutating func add(code: String, at field: String, message: String, isUnknown: Bool = false) {
        // The field already has a reading problem. The placeholder in its place must not cause a second one.
        if reportedFields.contains(where: { $0.isPath(within: field) || field.isPath(within: $0) }) { return }
        problems.append(RequestProblem(code: code, at: field, message: message, isUnknown: isUnknown))
    }

    // MARK: Catalog lookups

    /// Returns the activity type whose rules apply to the content. Returns nil if an update names no type and
    /// the app has several. Then the planner checks the content, because it knows the group's type.
    mutating func activityType() -> ActivityType? {
        guard let name = draft.attributesType else {
            return event != .start && validator.app.activityTypes.count == 1
                ? validator.app.activityTypes[0] : nil
        }
        if let type = validator.app.activityTypes.first(where: { $0.name.isExactlyEqual(to: name) }) {
            return type
        }
        add(
            code: "type_unknown", at: fields.attributesType,
            message:
                "is not an activity type of the app; create it with PUT /v1/activity-types/\(name) or `flotilla types put` first",
            isUnknown: true)
        return nil
    }

    /// Returns the owner if the group is private.
    mutating func owner(for type: ActivityType?) -> Recipient? {
        guard isPrivate(for: type) else { return nil }
        if let given = draft.isPrivate, !given, let field = fields.isPrivate {
            add(
                code: "conflict", at: field,
                message: "must be true or be omitted: all groups of this activity type are private"
            )
        }
        guard draft.group != nil else {
            add(code: "missing", at: fields.group, message: "is missing; a private group needs a name, too")
            return nil
        }
        guard case .users(let users) = draft.audience, users.count == 1 else {
            add(
                code: "not_one_user", at: fields.audience,
                message:
                    "must name exactly one user, because the group is private; send one request for each user"
            )
            return nil
        }
        return .user(users[0])
    }

    private mutating func isPrivate(for type: ActivityType?) -> Bool {
        if draft.isPrivate == true || type?.isPrivate == true { return true }
        guard type == nil, draft.attributesType == nil, draft.isPrivate == nil, event != .start,
            case .users = draft.audience
        else { return false }
        let kinds = Set(validator.app.activityTypes.map(\.isPrivate))
        if kinds.count == 2 {
            add(
                code: "missing", at: fields.attributesType,
                message:
                    "is missing; the app has private and shared types, and the type decides whether the group is private"
            )
        }
        return kinds == [true]
    }

    mutating func checkSegments() {
        guard case .segments(let names) = draft.audience else { return }
        for (index, name) in names.enumerated()
        where validator.catalog.segment(named: name, of: validator.app.id) == nil {
            add(
                code: "segment_unknown", at: "\(fields.segments)[\(index)]",
                message: "is not a segment of the app; create it with PUT /v1/segments/\(name) first",
                isUnknown: true)
        }
    }

    // MARK: The send

    mutating func makeSend(type: ActivityType?, owner: Recipient?) -> Send? {
        if draft.group == nil, event == .start {
            add(
                code: "missing", at: fields.group,
                message: "is missing; updates and the end need it to find the activity")
            return nil
        }
        if draft.group == nil, case .group = draft.audience {
            add(
                code: "missing", at: fields.group,
                message: "is missing; name the group, or one activity in \(fields.audience)")
            return nil
        }
        var send = Send(
            id: "", app: validator.app.id, group: draft.group, audience: draft.audience,
            content: content(for: type), priority: draft.priority, acceptedAt: validator.now.milliseconds)
        send.owner = owner
        send.collapseID = draft.collapseID
        send.endDate = draft.endDate
        send.deadline = draft.deadline
        send.expiration = draft.expiration
        send.isConflatable = draft.conflate
        send.unknownStartPolicy = draft.onUnknownStart
        send.forcesRestart = draft.restart
        send.isDryRun = draft.dryRun
        if let problem = send.problem { add(code: "invalid", at: fields.audience, message: problem) }
        if let key = send.scopeKey, key.bytes.count > ScopeKey.bytesMax {
            add(
                code: "invalid", at: fields.group,
                message:
                    "makes a key of \(key.bytes.count) bytes with app and user, at most \(ScopeKey.bytesMax) are allowed; use shorter names with fewer slashes and percent signs"
            )
        }
        return send
    }

    /// Returns the content to store. A start gets its type and its group attribute.
    private func content(for type: ActivityType?) -> PushContent {
        var content = draft.content
        guard event == .start else { return content }
        content.attributesType = draft.attributesType
        content.attributes =
            PayloadBuilder.attributes(of: content, group: groupAttribute(for: type)) ?? content.attributes
        return content
    }

    private func groupAttribute(for type: ActivityType?) -> GroupAttribute? {
        guard event == .start, let group = draft.group else { return nil }
        return GroupAttribute(name: type?.groupAttribute ?? GroupAttribute.defaultName, group: group)
    }

    mutating func checkDates() {
        let now = dueSeconds
        if let end = draft.endDate {
            if event != .start {
                add(
                    code: "not_allowed", at: fields.endDate,
                    message: "is allowed on a start only; send an end instead")
            } else {
                checkAhead(end, at: fields.endDate, within: SendValidator.endDateSecondsMax, days: "30 days")
            }
        }
        if let deadline = draft.deadline {
            checkAhead(deadline, at: "deadline", within: SendValidator.deadlineSecondsMax, days: "20 hours")
        }
        if let expiration = draft.expiration, expiration != 0, expiration <= now {
            add(
                code: "date_passed", at: "expiration",
                message: "has passed; give a later time, or 0 for one attempt")
        }
        if let expiration = draft.expiration, expiration > PayloadRules.secondsMax {
            add(
                code: "not_seconds", at: "expiration",
                message: "must be in seconds since 1970; this value looks like milliseconds")
        }
        if event != .start {
            if draft.restart {
                add(code: "not_allowed", at: "restart", message: "is allowed on a start only; omit it")
            }
            if draft.onUnknownStart != .skip {
                add(code: "not_allowed", at: "onUnknownStart", message: "is allowed on a start only; omit it")
            }
        }
        if !draft.conflate, event != .update {
            add(
                code: "not_allowed", at: "conflate",
                message: "is allowed on an update only; starts and ends are never conflated")
        }
    }

    private mutating func checkAhead(_ date: Int64, at field: String, within limit: Int64, days: String) {
        let now = dueSeconds
        if date > PayloadRules.secondsMax {
            add(
                code: "not_seconds", at: field,
                message: "must be in seconds since 1970; this value looks like milliseconds")
        } else if date <= now {
            add(code: "date_passed", at: field, message: "has passed; give a later time")
        } else if date > now + limit {
            add(code: "out_of_range", at: field, message: "is more than \(days) ahead")
        }
    }

    // MARK: The payload

    private func rules(for type: ActivityType?) -> PayloadRules {
        type.map { PayloadRules(now: dueSeconds, type: $0) } ?? PayloadRules(now: dueSeconds)
    }

    /// Checks the payload and returns the size of the APNs body in bytes.
    mutating func checkPayload(for type: ActivityType?) -> Int {
        var content = draft.content
        if event == .start { content.attributesType = draft.attributesType }
        let group = groupAttribute(for: type)
        for violation in rules(for: type).violations(in: content, group: group) {
            add(
                code: violation.rule.rawValue, at: fields.name(of: violation.field),
                message: violation.message)
        }
        return PayloadBuilder.body(for: content, timestamp: dueSeconds, group: group).count
    }

    func warnings(for type: ActivityType?) -> [RequestProblem] {
        var content = draft.content
        if event == .start { content.attributesType = draft.attributesType }
        return rules(for: type).warnings(in: content, group: groupAttribute(for: type)).map {
            RequestProblem(code: $0.rule.rawValue, at: fields.name(of: $0.field), message: $0.message)
        }
    }
}

extension String {
    /// Whether this path is `path` or lies below it.
    fileprivate func isPath(within path: String) -> Bool {
        guard hasPrefix(path), !path.isEmpty else { return self == path }
        guard let next = utf8.dropFirst(path.utf8.count).first else { return true }
        return next == UInt8(ascii: ".") || next == UInt8(ascii: "[")
    }
}
