// What phones take, and what their own decoder will say, where the activity type has a schema.

extension PayloadRules {
    /// What phones will take, but surely not as it was meant: a date in another unit, a name that is
    /// nearly right, a time that has passed. The content may be sent; somebody should be told.
    package func warnings(in content: PushContent, group: GroupAttribute? = nil) -> [PayloadViolation] {
        dateDoubts(of: content) + decoding(of: content, group).filter { $0.rule == .doubtful }
    }

    /// A date of 0 says "now" on purpose, and so does a `dismissal-date` that has passed.
    private func dateDoubts(of content: PushContent) -> [PayloadViolation] {
        var found: [PayloadViolation] = []
        func doubt(_ field: PayloadViolation.Field, _ message: String) {
            found.append(PayloadViolation(field: field, rule: .doubtful, message: message))
        }
        func isOfThisCentury(_ date: Int64, _ field: PayloadViolation.Field) -> Bool {
            if date == 0 || date >= PayloadRules.secondsMin { return true }
            doubt(
                field,
                "is taken for a time long ago, and so for now; give seconds since 1970, not since 2001, or 0 for now"
            )
            return false
        }
        if let date = content.staleDate, isOfThisCentury(date, .staleDate), date != 0, date <= now {
            doubt(
                .staleDate,
                "has passed, so the new state is outdated at once; give the time until which it will hold")
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
