internal import JSON

// The canonical JSON of a schema, which `ContentSchema.write` uses.

extension JSONWriter {
    /// Writes a type in the notation that `SchemaParser` reads. A constructor is an object whose first name
    /// begins with `$`, for example `{"$enum": ["home", "away"]}`.
    mutating func schema(_ type: SchemaType) {
        switch type {
        case .scalar(let scalar): value(scalar.rawValue)
        case .optional(.scalar(let scalar)): value(scalar.rawValue + "?")
        case .optional(let wrapped): constructor("$optional") { $0.schema(wrapped) }
        case .array(let element):
            beginArray()
            schema(element)
            endArray()
        case .object(let members):
            let looksLikeConstructor = members.contains { $0.name.hasPrefix("$") }
            if looksLikeConstructor {
                constructor("$object") { $0.members(members) }
            } else {
                self.members(members)
            }
        case .dictionary(let keys, let values): dictionary(keys: keys, values: values)
        case .names(let names):
            constructor("$enum") { writer in
                writer.beginArray()
                for name in names { writer.value(name) }
                writer.endArray()
            }
        case .numbers(let numbers):
            constructor("$enum") { writer in
                writer.beginArray()
                for number in numbers { writer.value(number) }
                writer.endArray()
            }
        case .cases(let cases):
            constructor("$cases") { writer in
                writer.beginObject()
                for enumCase in cases {
                    writer.name(enumCase.name)
                    writer.members(enumCase.values)
                }
                writer.endObject()
            }
        case .range(let bound): constructor("$range") { $0.schema(bound) }
        }
    }

    /// Writes an object with one member, the constructor.
    private mutating func constructor(_ constructorName: StaticString, body: (inout JSONWriter) -> Void) {
        beginObject()
        name(constructorName)
        body(&self)
        endObject()
    }

    private mutating func dictionary(keys: SchemaType, values: SchemaType) {
        beginObject()
        name("$dictionary")
        schema(values)
        if keys != .scalar(.string) {
            name("$keys")
            schema(keys)
        }
        endObject()
    }

    private mutating func members(_ members: [SchemaMember]) {
        beginObject()
        for member in members {
            name(member.name)
            schema(member.type)
        }
        endObject()
    }
}
