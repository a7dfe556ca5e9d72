internal import Identifiers
package import JSON

// The JSON form of a rule: an object with one predicate. Unknown fields are rejected even in records, because
// a rule that is only half understood selects the wrong people.

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
        var nodes = 0
        return segmentRule(depth: 1, nodes: &nodes)
    }

    private func segmentRule(depth: Int, nodes: inout Int) -> SegmentRule {
        nodes += 1
        if nodes == SegmentRule.nodesMax + 1 {
            report(
                "exceeds the limit of \(SegmentRule.nodesMax) predicates in a segment", as: .outOfRange)
        }
        if depth > SegmentRule.depthMax {
            report("is nested deeper than \(SegmentRule.depthMax) predicates", as: .outOfRange)
        }
        guard nodes <= SegmentRule.nodesMax, depth <= SegmentRule.depthMax else { return .or([]) }
        let object = object()
        guard kind == .object else { return .or([]) }
        let rule = segmentPredicate(in: object, depth: depth, nodes: &nodes)
        object.reportUnknownFields()
        return rule
    }

    private func segmentPredicate(in object: JSONObject, depth: Int, nodes: inout Int) -> SegmentRule {
        let (and, or, not) = (object["and"], object["or"], object["not"])
        let (tag, attribute, field) = (object["tag"], object["attribute"], object["field"])
        let given = [and, or, not, tag, attribute, field].filter { !$0.isMissing }
        guard given.count == 1 else {
            report("must have exactly one of and, or, not, tag, attribute, field")
            _ = object.segmentTests()
            return .or([])
        }
        if !and.isMissing { return .and(and.segmentRules(depth: depth, nodes: &nodes)) }
        if !or.isMissing { return .or(or.segmentRules(depth: depth, nodes: &nodes)) }
        if !not.isMissing { return .not(not.segmentRule(depth: depth + 1, nodes: &nodes)) }
        if !tag.isMissing { return .tag(tag.name()) }
        if !attribute.isMissing {
            return .test(.attribute(attribute.segmentText()), segmentTest(in: object, versions: false))
        }
        let known = field.choice(of: SegmentRule.Field.self) ?? .locale
        return .test(.field(known), segmentTest(in: object, versions: known.isVersion, textOnly: true))
    }

    private func segmentRules(depth: Int, nodes: inout Int) -> [SegmentRule] {
        var rules: [SegmentRule] = []
        var elements = array(countMax: SegmentRule.nodesMax)
        if kind == .array, elements.count == 0 { report("must have at least one predicate") }
        while let element = elements.next() {
            rules.append(element.segmentRule(depth: depth + 1, nodes: &nodes))
        }
        return rules
    }

    private func segmentTest(
        in object: JSONObject, versions: Bool, textOnly: Bool = false
    ) -> SegmentRule.Test {
        let given = object.segmentTests()
        guard given.count == 1 else {
            report("must have exactly one of equals, in, above, atLeast, below, atMost, exists")
            return .exists(false)
        }
        let (name, value) = given[0]
        switch name {
        case "exists": return .exists(value.bool())
        case "equals": return .isIn([value.segmentValue(isVersion: versions, isTextOnly: textOnly)])
        case "in":
            var values: [SegmentRule.Value] = []
            var elements = value.array(countMax: SegmentRule.valuesMax)
            while let element = elements.next() {
                values.append(element.segmentValue(isVersion: versions, isTextOnly: textOnly))
            }
            return .isIn(values)
        default:
            let bound = value.segmentValue(isVersion: versions, isTextOnly: textOnly)
            if case .boolean = bound {
                value.report("must be a number or a string: true and false have no order")
            }
            return .compares(SegmentRule.Comparison(rawValue: name) ?? .above, bound)
        }
    }

    private func segmentValue(isVersion versions: Bool, isTextOnly textOnly: Bool) -> SegmentRule.Value {
        switch kind {
        case .boolean where !textOnly: return .boolean(bool())
        case .integer where !textOnly, .number where !textOnly:
            // 30.0 is stored as 30, so that a rule reads the same after it is written.
            let number = double()
            guard abs(number) < 0x1p62 else { return .number(number) }
            if kind == .integer { return .integer(Int64(int())) }
            return number.rounded() == number ? .integer(Int64(number)) : .number(number)
        case .string:
            let text = segmentText()
            if versions, !text.utf8.contains(where: { (0x30...0x39).contains($0) }) {
                report("must be a version, such as \"17.4\"")
            }
            return .text(text)
        default:
            report(
                textOnly ? "must be a string" : "must be a string, a number, true or false", as: .wrongType)
            return .text("")
        }
    }

    private func segmentText() -> String {
        let text = string()
        if text.utf8.count > SegmentRule.textBytesMax {
            report("must have at most \(SegmentRule.textBytesMax) bytes", as: .outOfRange)
        }
        return text
    }
}

extension JSONObject {
    fileprivate func segmentTests() -> [(String, JSONValue)] {
        let all = [
            ("equals", self["equals"]), ("in", self["in"]), ("exists", self["exists"]),
            ("above", self["above"]), ("atLeast", self["atLeast"]), ("below", self["below"]),
            ("atMost", self["atMost"]),
        ]
        return all.filter { !$0.1.isMissing }
    }
}

extension JSONWriter {
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
            case .field(let known): field("field", known.rawValue)
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
