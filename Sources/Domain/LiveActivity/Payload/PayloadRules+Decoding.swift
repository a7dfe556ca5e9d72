// Checks with the activity type's schema, which predict how phones decode the content.

extension PayloadRules {
    /// Returns doubts about content that phones accept but probably misread. Examples are a date in another
    /// unit, a name that is nearly right, or a time that has passed. The content may be sent, but its sender
    /// should see the warning.
    package func warnings(in content: PushContent, group: GroupAttribute? = nil) -> [PayloadViolation] {
        dateDoubts(of: content) + decoding(of: content, group).filter { $0.rule == .doubtful }
    }

    /// A date of 0 means "now" on purpose, and so does a `dismissal-date` in the past.
    private func dateDoubts(of content: PushContent) -> [PayloadViolation] {
        var found: [PayloadViolation] = []
        func doubt(_ field: PayloadViolation.Field, _ message: String) {
            found.append(PayloadViolation(field: field, rule: .doubtful, message: message))
        }
        func isOfThisCentury(_ date: Int64, _ field: PayloadViolation.Field) -> Bool {
            if date == 0 || date >= PayloadRules.secondsMin { return true }
            doubt(
                field,
                "lies long in the past, so phones treat it as now; give seconds since 1970, not since 2001, or 0"
            )
            return false
        }
        if let date = content.staleDate, isOfThisCentury(date, .staleDate), date != 0, date <= now {
            doubt(
                .staleDate,
                "has passed, so the new state is outdated at once; give the time until which it is valid")
        }
        if let date = content.dismissalDate { _ = isOfThisCentury(date, .dismissalDate) }
        return found
    }

    func decoding(of content: PushContent, _ group: GroupAttribute?) -> [PayloadViolation] {
        var found: [PayloadViolation] = []
        func check(_ value: RawJSON?, against schema: ContentSchema?, of field: PayloadViolation.Field) {
            guard let value, let schema, value.isObject else { return }
            let findings = schema.findings(in: value, now: now)
            found += (findings.failures + findings.doubts).map { finding in
                PayloadViolation(
                    field: field, rule: finding.fails ? .doesNotDecode : .doubtful,
                    message: finding.path.isEmpty ? finding.message : "at \(finding)")
            }
        }
        check(content.contentState, against: contentStateSchema, of: .contentState)
        if content.event == .start {
            check(PayloadBuilder.attributes(of: content, group), against: attributesSchema, of: .attributes)
        }
        return found
    }
}
