internal import CatalogRecords
internal import Glibc
internal import JSON
package import Lifecycle

/// An unusable input file, with all its problems.
package struct InputFileError: FatalError {
    package let description: String
    package var exitStatus: ExitStatus { .dataError }
}

/// Reads the JSON files that an operator gives the simulator.
enum InputFile {
    /// Limits of a file with activity types: 8 MiB, because each type may have two schemas.
    static let activityTypesLimits = JSONLimits(bytesMax: 8 << 20, keysMax: 500_000)

    static func readScript(at path: String) throws -> FaultScript {
        try read("script", from: path, limits: FaultScript.limits) { bytes, reader throws(JSONError) in
            try FaultScript(bytes, with: reader)
        }
    }

    static func readPortal(at path: String) throws -> Portal {
        try read("portal", from: path, limits: Portal.limits) { bytes, reader throws(JSONError) in
            try reader.read(bytes) { Portal($0) }
        }
    }

    /// Reads an array of activity types, in the format of an app's configuration.
    static func readActivityTypes(at path: String) throws -> [ActivityType] {
        try read("activity types", from: path, limits: activityTypesLimits) {
            bytes, reader throws(JSONError) in
            try reader.read(bytes) { value in
                let types = value.array(countMax: ActivityType.countPerAppMax).map {
                    ActivityType(from: $0.object())
                }
                if types.isEmpty || Set(types.map(\.name)).count < types.count {
                    value.report("must have at least one type and no repeated name")
                }
                return types
            }
        }
    }

    /// Reads and decodes a file. Throws all problems of its content in one `InputFileError`.
    /// - Parameter kind: the kind of file, for messages.
    private static func read<Value>(
        _ kind: String, from path: String, limits: JSONLimits,
        decode: ([UInt8], JSONReader) throws(JSONError) -> Value
    ) throws -> Value {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError(action: "read the \(kind) \(path)", code: errno) }
        defer { close(descriptor) }
        // With one byte above the limit, the decoder refuses a file that is too large.
        var bytes = [UInt8](repeating: 0, count: limits.bytesMax + 1)
        var count = 0
        while count < bytes.count {
            let readCount = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe Glibc.read(descriptor, buffer.baseAddress! + count, buffer.count - count)
            }
            if readCount < 0, errno == EINTR { continue }
            guard readCount >= 0 else {
                throw SystemError(action: "read the \(kind) \(path)", code: errno)
            }
            if readCount == 0 { break }
            count += readCount
        }
        do {
            return try decode(Array(bytes.prefix(count)), JSONReader(limits: limits))
        } catch {
            let problems = error.problems.map { "the \(kind) \(path): \($0)" }
            throw InputFileError(description: problems.joined(separator: "\n"))
        }
    }
}
