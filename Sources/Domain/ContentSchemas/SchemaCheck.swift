internal import JSON

/// One check of a value against a schema. It decides as Swift's decoder would, but it does not stop at the
/// first error. Extensions have the checks of scalars, enumerations and dates.
struct SchemaCheck {
    /// The time of the check, in seconds since 1970.
    let now: Int64
    var findings = SchemaFindings()

    /// Adds the findings for a value and for the values in it.
    mutating func check(_ value: JSONValue, against type: SchemaType) {
        switch type {
        case .optional(let wrapped): if !value.isNull { check(value, against: wrapped) }
        case .scalar(.any): break
        // A struct without properties decodes from any value, because it reads nothing from its decoder.
        case .object(let members): if !members.isEmpty { checkObject(value, as: type, members: members) }
        case .scalar(let scalar): check(value, against: scalar)
        case .array(let element): checkArray(value, as: type, of: element)
        case .dictionary(let keys, let values):
            if keys.isObjectKey {
                checkDictionary(value, as: type, keys: keys, values: values)
            } else {
                checkAlternatingArray(value, as: type, keys: keys, values: values)
            }
        case .names(let names): checkRawName(value, in: names)
        case .numbers(let numbers): checkRawNumber(value, in: numbers)
        case .cases(let cases): checkCases(of: value, against: cases)
        case .range(let bound): checkRange(value, as: type, of: bound)
        }
    }

    mutating func addFinding(at value: JSONValue, code: SchemaFinding.Code, message: String) {
        findings.add(SchemaFinding(path: value.path, code: code, message: message))
    }

    /// Returns whether the value is of the kind that its type needs. If not, it adds a finding.
    ///
    /// - Parameters:
    ///   - swiftName: the type as a Swift programmer would write it, for the message.
    ///   - remedy: the advice to the caller, for the message.
    mutating func expect(
        _ value: JSONValue, kinds: Set<JSONKind>, swiftName: String, remedy: String
    ) -> Bool {
        guard let kind = value.kind else { return false }
        if kinds.contains(kind) { return true }
        if kind == .null {
            addFinding(
                at: value, code: .null, message: "is null, and \(swiftName) is not optional; \(remedy)")
        } else {
            addFinding(
                at: value, code: .wrongType,
                message: "is \(kind.phrase), and \(swiftName) does not decode from it; \(remedy)")
        }
        return false
    }

    // MARK: Containers

    private mutating func checkObject(_ value: JSONValue, as type: SchemaType, members: [SchemaMember]) {
        guard
            expect(
                value, kinds: [.object], swiftName: type.swiftName, remedy: "send an object of its properties"
            )
        else { return }
        checkMembers(of: value, against: members)
    }

    /// Checks the members of an object. Members that the schema does not have are ignored, as by Swift's decoder.
    mutating func checkMembers(of value: JSONValue, against members: [SchemaMember]) {
        var valuesByName: [String: JSONValue] = [:]
        for (name, memberValue) in value.object().members { valuesByName[name] = memberValue }
        let schemaNames = Set(members.map(\.name))
        for member in members {
            if let memberValue = valuesByName[member.name] {
                check(memberValue, against: member.type)
                continue
            }
            // An unknown name that differs only in case or separators was probably meant for this property.
            let similarName = valuesByName.keys
                .filter { !schemaNames.contains($0) && $0.isSpelled(like: member.name) }.min()
            addMissing(member, in: value, similarName: similarName)
        }
    }

    /// Adds a finding for a property without a value. An optional property may be missing, unless the value
    /// has a similar name that was probably meant for it.
    private mutating func addMissing(_ member: SchemaMember, in value: JSONValue, similarName: String?) {
        let path = value.path(ofMember: member.name)
        let spellingHint = similarName.map { "there is \($0), but names must match exactly" }
        if !member.isOptional {
            let reason = spellingHint ?? "Swift uses no default value for a missing key"
            findings.add(
                SchemaFinding(path: path, code: .missing, message: "is missing; \(reason): send it"))
        } else if let spellingHint {
            findings.add(
                SchemaFinding(path: path, code: .misspelt, message: "stays nil; \(spellingHint): rename it"))
        }
    }

    private mutating func checkArray(_ value: JSONValue, as type: SchemaType, of element: SchemaType) {
        guard expect(value, kinds: [.array], swiftName: type.swiftName, remedy: "send an array") else {
            return
        }
        for item in value.array(countMax: .max) { check(item, against: element) }
    }

    private mutating func checkDictionary(
        _ value: JSONValue, as type: SchemaType, keys: SchemaType, values: SchemaType
    ) {
        guard expect(value, kinds: [.object], swiftName: type.swiftName, remedy: "send an object") else {
            return
        }
        for (name, member) in value.object().members {
            if keys == .scalar(.int), Int(name) == nil {
                addFinding(
                    at: member, code: .malformed,
                    message: "has a key that is not an Int; \(type.swiftName) needs digits there")
            }
            check(member, against: values)
        }
    }

    /// Checks the form in which Swift writes a dictionary whose keys are neither `String` nor `Int`:
    /// `[key, value, key, value]`.
    private mutating func checkAlternatingArray(
        _ value: JSONValue, as type: SchemaType, keys: SchemaType, values: SchemaType
    ) {
        let remedy = "send an array in which keys and values alternate, as Swift writes it"
        guard expect(value, kinds: [.array], swiftName: type.swiftName, remedy: remedy) else { return }
        let elements = value.array(countMax: .max)
        if !elements.count.isMultiple(of: 2) {
            addFinding(at: value, code: .malformed, message: "has an odd number of elements; \(remedy)")
        }
        for (index, element) in elements.enumerated() {
            check(element, against: index.isMultiple(of: 2) ? keys : values)
        }
    }

    /// Checks the array of a lower and an upper bound, as which Swift encodes a range.
    private mutating func checkRange(_ value: JSONValue, as type: SchemaType, of bound: SchemaType) {
        let remedy = "send an array of the lower and the upper bound"
        guard expect(value, kinds: [.array], swiftName: type.swiftName, remedy: remedy) else { return }
        var elements = value.array(countMax: .max)
        guard let lower = elements.next(), let upper = elements.next() else {
            return addFinding(at: value, code: .malformed, message: "does not have two bounds; \(remedy)")
        }
        check(lower, against: bound)
        check(upper, against: bound)
        guard case .scalar(let scalar) = bound else { return }
        if isOrdered(lower, before: upper, as: scalar) == false {
            addFinding(
                at: value, code: .wrongOrder,
                message: "has its lower bound above the upper one; exchange them")
        }
    }
}

extension String {
    /// Whether both names are equal without case and separators, as `home_team` and `homeTeam` are.
    fileprivate func isSpelled(like other: String) -> Bool {
        func normalized(_ text: String) -> [Character] {
            text.lowercased().filter { $0 != "_" && $0 != "-" && $0 != " " }.map { $0 }
        }
        return normalized(self) == normalized(other)
    }
}
