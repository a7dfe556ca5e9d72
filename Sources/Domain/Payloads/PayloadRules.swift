package import ContentSchemas
internal import Identifiers
internal import JSON

/// The rules that a payload must keep so that APNs accepts it and a phone acts on it. They are checked before
/// a send is accepted, because APNs answers 200 to many payloads that a phone then silently ignores.
package struct PayloadRules: Sendable {
    /// The way of the payload to the phone. A channel allows a larger payload.
    package enum Route: Sendable {
        case token
        case channel

        package var bytesMax: Int { self == .token ? 4096 : 5120 }
    }

    /// ActivityKit's limit for attributes and content-state together. The size of an update alone does not
    /// show whether it is exceeded.
    package static let dataBytesMax = 4096
    /// Whether content that is assembled here from accepted parts fits into one body for tokens.
    package static func fits(_ content: PushContent, body: [UInt8]) -> Bool {
        let data = (content.attributes?.count ?? 0) + (content.contentState?.count ?? 0)
        return body.count <= Route.token.bytesMax && data <= dataBytesMax
    }

    /// Dates above this are milliseconds by mistake: as seconds they lie after the year 5000.
    package static let secondsMax: Int64 = 100_000_000_000
    /// Dates below this, except 0, count from 2001, as Swift's own dates do. As seconds since 1970 they lie
    /// before Live Activities existed.
    static let secondsMin: Int64 = 1_600_000_000

    package let route: Route
    /// The time of submission, in seconds since 1970.
    package let now: Int64
    /// The attributes that the activity type declares as required.
    package let requiredAttributes: [String]
    /// The schemas of the activity type, which describe the values that phones decode.
    package let contentStateSchema: ContentSchema?
    package let attributesSchema: ContentSchema?

    package init(
        route: Route = .token, now: Int64, requiredAttributes: [String] = [],
        contentStateSchema: ContentSchema? = nil, attributesSchema: ContentSchema? = nil
    ) {
        self.route = route
        self.now = now
        self.requiredAttributes = requiredAttributes
        self.contentStateSchema = contentStateSchema
        self.attributesSchema = attributesSchema
    }

    /// Returns all problems in the order of the fields, or an empty array if the content may be sent.
    ///
    /// - Parameters:
    ///   - group: the group attribute that a start carries. It counts into the size.
    ///   - attributesBytes: the size of the attributes that the activity was started with, if known. An
    ///     update is refused if these and the new state together exceed the limit.
    package func violations(
        in content: PushContent, group: GroupAttribute? = nil, attributesBytes known: Int = 0
    ) -> [PayloadViolation] {
        var check = PayloadCheck(content: content, rules: self)
        check.checkState()
        check.checkAttributes(group: group)
        check.checkAlert()
        check.checkDates()
        check.checkRemainingFields()
        guard check.found.isEmpty else { return check.found }
        check.checkSizes(group: group, knownAttributesBytes: known)
        check.found += schemaViolations(in: content, group: group).filter { $0.rule == .doesNotDecode }
        return check.found
    }
}

private struct PayloadCheck {
    let content: PushContent
    let rules: PayloadRules
    var found: [PayloadViolation] = []

    private var event: PushEvent { content.event }

    private mutating func add(
        _ field: PayloadViolation.Field, rule: PayloadViolation.Rule, message: String
    ) {
        found.append(PayloadViolation(field: field, rule: rule, message: message))
    }

    mutating func checkState() {
        if let state = content.contentState {
            if !state.isObject {
                add(
                    .contentState, rule: .notAnObject,
                    message: "must be a JSON object, the ContentState of the activity type")
            }
        } else if event != .end {
            add(
                .contentState, rule: .required,
                message: "is required on \(event.phrase); give the whole state, not a change to it")
        }
    }

    mutating func checkAttributes(group: GroupAttribute?) {
        if event == .start {
            if content.attributesType?.isEmpty ?? true {
                add(
                    .attributesType, rule: .required,
                    message: "is required on a start; give the name of the ActivityAttributes type")
            }
            guard let attributes = content.attributes else {
                return add(
                    .attributes, rule: .required,
                    message: "is required on a start; give every property of the attributes type")
            }
            if !attributes.isObject {
                return add(
                    .attributes, rule: .notAnObject,
                    message: "must be a JSON object, the properties of the attributes type")
            }
            let members = attributes.members
            // The group attribute is added later.
            for name in rules.requiredAttributes
            where members[name, default: .null] == .null && !(group?.name.isExactlyEqual(to: name) ?? false) {
                add(
                    .attributes, rule: .required,
                    message:
                        "lacks \(name), or has null, and the activity type requires it; without it no phone starts"
                )
            }
        } else {
            if content.attributesType != nil {
                add(
                    .attributesType, rule: .notAllowed,
                    message: "belongs to a start only; leave it out of \(event.phrase)")
            }
            if content.attributes != nil {
                add(
                    .attributes, rule: .notAllowed,
                    message: "belongs to a start only; they cannot be changed by \(event.phrase)")
            }
        }
    }

    mutating func checkAlert() {
        if let alert = content.alert {
            if alert.isEmpty {
                add(
                    .alert, rule: .empty,
                    message: "has neither title nor body; give one, or leave the alert out")
            }
        } else if event == .start {
            add(
                .alert, rule: .required,
                message: "is required on a start; without a title or a body iOS does not show the activity")
        }
    }

    mutating func checkDates() {
        if let date = content.staleDate {
            if event == .end {
                add(
                    .staleDate, rule: .notAllowed,
                    message: "has no meaning on an end; give dismissal-date instead")
            } else {
                // A date in the past is allowed: the phone then shows the state as outdated at once.
                checkSeconds(date, in: .staleDate)
            }
        }
        if let date = content.dismissalDate {
            if event == .end {
                // A date in the past is allowed: the activity then leaves the Lock Screen at once.
                checkSeconds(date, in: .dismissalDate)
            } else {
                add(
                    .dismissalDate, rule: .notAllowed,
                    message: "belongs to an end only; leave it out of \(event.phrase)")
            }
        }
    }

    private mutating func checkSeconds(_ date: Int64, in field: PayloadViolation.Field) {
        guard date > PayloadRules.secondsMax else { return }
        add(
            field, rule: .notSeconds,
            message: "must be in seconds since 1970; \(date) looks like milliseconds")
    }

    mutating func checkRemainingFields() {
        if let score = content.relevanceScore, !score.isFinite {
            add(
                .relevanceScore, rule: .notANumber,
                message: "must be a finite number; it is compared with the app's other activities")
        }
        if event != .start {
            if content.asksForToken {
                add(.asksForToken, rule: .notAllowed, message: "belongs to a start only; leave it out")
            }
            if content.channel != nil {
                add(.channel, rule: .notAllowed, message: "belongs to a start only; leave it out")
            }
        } else if content.asksForToken, content.channel != nil {
            add(
                .asksForToken, rule: .conflict,
                message: "cannot be combined with input-push-channel; an activity uses one of them")
        }
        if content.channel?.isEmpty == true {
            add(.channel, rule: .empty, message: "is empty; give the channel's id or leave it out")
        }
        if event == .start, rules.route == .channel {
            add(
                .payload, rule: .notAllowed,
                message: "cannot start an activity through a channel; start by token")
        }
    }

    mutating func checkSizes(group: GroupAttribute?, knownAttributesBytes: Int) {
        let attributes = PayloadBuilder.attributes(of: content, group: group)
        if let group, event == .start, attributes == nil {
            return add(
                .attributes, rule: .conflict,
                message: "has a \(group.name) that is not the group; leave it out, it is added for you")
        }
        let attributesBytes = attributes?.count ?? knownAttributesBytes
        let data = attributesBytes + (content.contentState?.count ?? 0)
        if data > PayloadRules.dataBytesMax {
            add(
                .contentState, rule: .tooLarge,
                message:
                    "and the attributes have \(data) bytes together; ActivityKit allows \(PayloadRules.dataBytesMax)"
            )
        }
        let body = PayloadBuilder.body(for: content, timestamp: rules.now, group: group)
        if body.count > rules.route.bytesMax {
            add(
                .payload, rule: .tooLarge,
                message:
                    "has \(body.count) bytes; APNs allows \(rules.route.bytesMax), so shorten the state or the alert"
            )
        }
    }
}

extension PushEvent {
    fileprivate var phrase: String { self == .update ? "an update" : self == .end ? "an end" : "a start" }
}
