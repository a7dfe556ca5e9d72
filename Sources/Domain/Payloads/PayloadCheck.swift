internal import Identifiers
internal import JSON

/// The checks of the content of one push, field by field. They collect all violations and do not stop at the first
/// one. `PayloadRules.violations` calls them in order.
struct PayloadCheck {
    let content: PushContent
    let rules: PayloadRules
    /// The violations that were found so far.
    var violations: [PayloadViolation] = []

    private var event: PushEvent { content.event }

    private mutating func add(
        _ field: PayloadViolation.Field, rule: PayloadViolation.Rule, message: String
    ) {
        violations.append(PayloadViolation(field: field, rule: rule, message: message))
    }

    /// Checks the content state, which only an END may lack.
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

    /// Checks the attributes and their type. Only a start has them.
    mutating func checkAttributes(group: GroupAttribute?) {
        if event == .start {
            checkStartAttributes(group: group)
        } else {
            checkAttributesAreAbsent()
        }
    }

    private mutating func checkStartAttributes(group: GroupAttribute?) {
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
        for name in rules.requiredAttributes {
            // `PayloadBuilder` adds the group attribute.
            let isGroupAttribute = group?.name.isExactlyEqual(to: name) ?? false
            if isGroupAttribute || members[name, default: .null] != .null { continue }
            add(
                .attributes, rule: .required,
                message:
                    "lacks \(name), or has null, and the activity type requires it; without it no phone starts"
            )
        }
    }

    private mutating func checkAttributesAreAbsent() {
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

    /// Checks the alert, which a start must have.
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

    /// Checks the stale date and the dismissal date.
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

    /// Checks the relevance score, the request for an update token, and the channel.
    mutating func checkRemainingFields() {
        checkRelevanceScore()
        checkTokenAndChannel()
    }

    private mutating func checkRelevanceScore() {
        if let score = content.relevanceScore, !score.isFinite {
            add(
                .relevanceScore, rule: .notANumber,
                message: "must be a finite number; it is compared with the app's other activities")
        }
    }

    private mutating func checkTokenAndChannel() {
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

    /// Checks the sizes of content without other violations.
    ///
    /// - Parameter knownAttributesBytes: the size of the attributes that the activity was started with, or 0.
    mutating func checkSizes(group: GroupAttribute?, knownAttributesBytes: Int) {
        let attributes = PayloadBuilder.attributes(of: content, group: group)
        // A start without other violations has attributes. So nil means that they name another group.
        if let group, event == .start, attributes == nil {
            return add(
                .attributes, rule: .conflict,
                message: "has a \(group.name) that is not the group; leave it out, it is added for you")
        }
        let attributesBytes = attributes?.count ?? knownAttributesBytes
        let dataBytes = attributesBytes + (content.contentState?.count ?? 0)
        if dataBytes > PayloadRules.dataBytesMax {
            add(
                .contentState, rule: .tooLarge,
                message:
                    "and the attributes have \(dataBytes) bytes together; ActivityKit allows \(PayloadRules.dataBytesMax)"
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
    /// The event with its article, for messages.
    fileprivate var phrase: String {
        switch self {
        case .start: "a start"
        case .update: "an update"
        case .end: "an end"
        }
    }
}
