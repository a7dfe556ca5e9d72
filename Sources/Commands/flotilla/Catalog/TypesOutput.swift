internal import CatalogRecords
internal import JSON

/// The output of activity types: a table for people, or a JSON object per line for programs.
struct TypesOutput {
    private let types: [ActivityType]

    init(_ types: [ActivityType]) { self.types = types }

    func show(for invocation: Invocation) {
        if invocation.isJSON {
            for type in types {
                var json = JSONWriter()
                type.write(to: &json)
                print(String(decoding: json.bytes, as: UTF8.self))
            }
        } else if types.isEmpty {
            print("no such activity type; `flotilla types put --help` says how to make one")
        } else {
            let headers = ["type", "groups", "group attribute", "required attributes", "schemas"]
            print(Table(headers: headers, rows: types.map(cells)).text)
        }
    }

    private func cells(of type: ActivityType) -> [String] {
        let schemas = [
            type.contentStateSchema.map { _ in "content-state" },
            type.attributesSchema.map { _ in "attributes" }, type.layout.map { _ in "layout" },
        ].compactMap(\.self)
        return [
            type.name, type.isPrivate ? "private" : "shared", type.groupAttribute,
            type.requiredAttributes.isEmpty ? "–" : type.requiredAttributes.joined(separator: ","),
            schemas.isEmpty ? "–" : schemas.joined(separator: ","),
        ]
    }
}
