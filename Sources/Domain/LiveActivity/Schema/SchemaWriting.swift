internal import JSON

extension JSONWriter {
    mutating func schema(_ type: SchemaType) {
        switch type {
        case .scalar(let scalar): value(scalar.rawValue)
        case .optional(.scalar(let scalar)): value(scalar.rawValue + "?")
        case .optional(let wrapped): constructed("$optional") { $0.schema(wrapped) }
        case .array(let element):
            beginArray()
            schema(element)
            endArray()
        case .object(let members):
            if members.contains(where: { $0.name.hasPrefix("$") }) {
                constructed("$object") { $0.members(members) }
            } else {
                self.members(members)
            }
        case .dictionary(let keys, let values): dictionary(keys, values)
        case .names(let names):
            constructed("$enum") { writer in
                writer.beginArray()
                for name in names { writer.value(name) }
                writer.endArray()
            }
        case .numbers(let numbers):
            constructed("$enum") { writer in
                writer.beginArray()
                for number in numbers { writer.value(number) }
                writer.endArray()
            }
        case .cases(let cases):
            constructed("$cases") { writer in
                writer.beginObject()
                for one in cases {
                    writer.name(one.name)
                    writer.members(one.values)
                }
                writer.endObject()
            }
        case .range(let bound): constructed("$range") { $0.schema(bound) }
        }
    }

    private mutating func constructed(_ word: StaticString, _ body: (inout JSONWriter) -> Void) {
        beginObject()
        name(word)
        body(&self)
        endObject()
    }

    private mutating func dictionary(_ keys: SchemaType, _ values: SchemaType) {
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
