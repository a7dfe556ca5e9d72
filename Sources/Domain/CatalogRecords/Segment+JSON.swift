internal import Identifiers
package import JSON

// A rule in JSON is an object with one predicate, for example
// `{"and":[{"tag":"beta"},{"field":"os","atLeast":"17.4"}]}`. Unknown fields are rejected even in records,
// because a rule that is only half understood selects the wrong people.
//
// Each reader reports a problem and returns a placeholder, for example `.or([])`. A document with a problem is
// not used.

extension Segment {
    package init(from record: JSONObject) {
        self.init(
            app: record["app"].appID(), name: record["name"].name(), rule: record["rule"].segmentRule())
    }

    package func write(to writer: inout JSONWriter) {
        writer.field("app", app)
        writer.field("name", name)
        writer.name("rule")
        writer.value(rule)
    }
}

extension JSONValue {
    /// Reads a rule and reports every problem with it.
    package func segmentRule() -> SegmentRule {
        var predicateCount = 0
        return segmentRule(depth: 1, predicateCount: &predicateCount)
    }

    /// Reads a rule inside a rule.
    ///
    /// - Parameters:
    ///   - depth: the nesting depth of this rule, from 1.
    ///   - predicateCount: the number of predicates of the whole rule that were read so far.
    private func segmentRule(depth: Int, predicateCount: inout Int) -> SegmentRule {
        predicateCount += 1
        // The problem is reported once, not for each further predicate.
        if predicateCount == SegmentRule.predicatesMax + 1 {
            report(
                "exceeds the limit of \(SegmentRule.predicatesMax) predicates in a segment", as: .outOfRange)
        }
        if depth > SegmentRule.depthMax {
            report("is nested deeper than \(SegmentRule.depthMax) predicates", as: .outOfRange)
        }
        guard predicateCount <= SegmentRule.predicatesMax, depth <= SegmentRule.depthMax else {
            return .or([])
        }
        let object = object()
        guard kind == .object else { return .or([]) }
        let rule = segmentPredicate(in: object, depth: depth, predicateCount: &predicateCount)
        object.reportUnknownFields()
        return rule
    }

    /// Reads the predicate of an object: the member that shows its kind, and for `attribute` and `field` a test.
    private func segmentPredicate(
        in object: JSONObject, depth: Int, predicateCount: inout Int
    ) -> SegmentRule {
        let (and, or, not) = (object["and"], object["or"], object["not"])
        let (tag, attribute, field) = (object["tag"], object["attribute"], object["field"])
        let predicates = [and, or, not, tag, attribute, field].filter { !$0.isMissing }
        guard predicates.count == 1 else {
            report("must have exactly one of and, or, not, tag, attribute, field")
            // Reads the tests too, so that they are not reported as unknown fields.
            _ = object.segmentTests()
            return .or([])
        }
        if !and.isMissing { return .and(and.segmentRules(depth: depth, predicateCount: &predicateCount)) }
        if !or.isMissing { return .or(or.segmentRules(depth: depth, predicateCount: &predicateCount)) }
        if !not.isMissing { return .not(not.segmentRule(depth: depth + 1, predicateCount: &predicateCount)) }
        if !tag.isMissing { return .tag(tag.name()) }
        if !attribute.isMissing {
            return .test(.attribute(attribute.segmentText()), segmentTest(in: object, with: .any))
        }
        let profileField = field.choice(of: SegmentRule.Field.self) ?? .locale
        return .test(
            .field(profileField),
            segmentTest(in: object, with: profileField.isVersion ? .version : .text))
    }

    private func segmentRules(depth: Int, predicateCount: inout Int) -> [SegmentRule] {
        var rules: [SegmentRule] = []
        var elements = array(countMax: SegmentRule.predicatesMax)
        if kind == .array, elements.count == 0 { report("must have at least one predicate") }
        while let element = elements.next() {
            rules.append(element.segmentRule(depth: depth + 1, predicateCount: &predicateCount))
        }
        return rules
    }

    /// The values that a test may compare with.
    private enum AllowedValues {
        /// Strings, numbers, true and false: the values of attributes.
        case any
        /// Only strings.
        case text
        /// Only strings with a digit: system versions and app builds.
        case version
    }

    /// Reads the test of a predicate, such as `"atLeast": 3`.
    private func segmentTest(in object: JSONObject, with allowed: AllowedValues) -> SegmentRule.Test {
        let tests = object.segmentTests()
        guard tests.count == 1 else {
            report("must have exactly one of equals, in, above, atLeast, below, atMost, exists")
            return .exists(false)
        }
        let (name, value) = tests[0]
        switch name {
        case "exists": return .exists(value.bool())
        case "equals": return .isIn([value.segmentValue(allowed)])
        case "in":
            var values: [SegmentRule.Value] = []
            var elements = value.array(countMax: SegmentRule.valuesMax)
            while let element = elements.next() {
                values.append(element.segmentValue(allowed))
            }
            return .isIn(values)
        default:
            // One of the comparisons, whose raw values are these names.
            let bound = value.segmentValue(allowed)
            if case .boolean = bound {
                value.report("must be a number or a string: true and false have no order")
            }
            return .compares(SegmentRule.Comparison(rawValue: name) ?? .above, bound)
        }
    }

    /// Numbers below this, positive or negative, fit into an `Int64`.
    private static let exactIntegerBound = 0x1p62

    /// Reads the value with which a test compares.
    private func segmentValue(_ allowed: AllowedValues) -> SegmentRule.Value {
        switch kind {
        case .boolean where allowed == .any: return .boolean(bool())
        case .integer where allowed == .any, .number where allowed == .any:
            // 30.0 is stored as 30, so that a rule reads the same after it is written. A larger number might
            // not fit into `Int64`.
            let number = double()
            guard abs(number) < Self.exactIntegerBound else { return .number(number) }
            if kind == .integer { return .integer(Int64(int())) }
            return number.rounded() == number ? .integer(Int64(number)) : .number(number)
        case .string:
            let text = segmentText()
            let hasDigit = text.utf8.contains { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            if allowed == .version, !hasDigit { report("must be a version, such as \"17.4\"") }
            return .text(text)
        default:
            report(
                allowed == .any ? "must be a string, a number, true or false" : "must be a string",
                as: .wrongType)
            return .text("")
        }
    }

    /// Reads a text of limited size.
    private func segmentText() -> String {
        let text = string()
        if text.utf8.count > SegmentRule.textBytesMax {
            report("must have at most \(SegmentRule.textBytesMax) bytes", as: .outOfRange)
        }
        return text
    }
}

extension JSONObject {
    /// Returns the tests that the object has. A valid predicate has one.
    fileprivate func segmentTests() -> [(name: String, value: JSONValue)] {
        let tests = [
            (name: "equals", value: self["equals"]), (name: "in", value: self["in"]),
            (name: "exists", value: self["exists"]), (name: "above", value: self["above"]),
            (name: "atLeast", value: self["atLeast"]), (name: "below", value: self["below"]),
            (name: "atMost", value: self["atMost"]),
        ]
        return tests.filter { !$0.value.isMissing }
    }
}

extension JSONWriter {
    /// Writes a rule as an object.
    package mutating func value(_ rule: SegmentRule) {
        beginObject()
        switch rule {
        case .and(let rules): field("and", rules: rules)
        case .or(let rules): field("or", rules: rules)
        case .not(let rule):
            name("not")
            value(rule)
        case .tag(let tag): field("tag", tag)
        case .test(let subject, let test):
            switch subject {
            case .attribute(let name): field("attribute", name)
            case .field(let profileField): field("field", profileField.rawValue)
            }
            write(test)
        }
        endObject()
    }

    private mutating func field(_ name: StaticString, rules: [SegmentRule]) {
        self.name(name)
        beginArray()
        for rule in rules { value(rule) }
        endArray()
    }

    private mutating func write(_ test: SegmentRule.Test) {
        switch test {
        case .exists(let exists): field("exists", exists)
        case .isIn(let values) where values.count == 1:
            name("equals")
            value(values[0])
        case .isIn(let values):
            name("in")
            beginArray()
            for value in values { self.value(value) }
            endArray()
        case .compares(let comparison, let bound):
            name(comparison.rawValue)
            value(bound)
        }
    }

    private mutating func value(_ value: SegmentRule.Value) {
        switch value {
        case .text(let text): self.value(text)
        case .integer(let number): self.value(number)
        case .number(let number): self.value(number)
        case .boolean(let boolean): self.value(boolean)
        }
    }
}
