internal import Compression
internal import ConsoleFiles
internal import Cryptography

/// A file of the console, as sent to browsers.
package struct ConsoleFile: Sendable {
    package static let indexName = "index.html"
    private static let entityTagDigestByteCount = 12

    package let name: String
    package let bytes: [UInt8]
    /// The bytes compressed with gzip, or nil if that does not make them smaller.
    package let compressedBytes: [UInt8]?
    /// The entity tag of the bytes, in quotes. A browser that has a copy sends it, to ask whether the file has
    /// changed.
    package let entityTag: String

    private init(name: String, bytes: [UInt8]) {
        self.name = name
        self.bytes = bytes
        compressedBytes = Gzip.compress(bytes).flatMap { $0.count < bytes.count ? $0 : nil }
        let digest = SHA256.digest(of: bytes).prefix(Self.entityTagDigestByteCount)
        entityTag = "\"\(Base64URL.encode(Array(digest)))\""
    }

    /// All files by name, from the C module that the build makes of them.
    package static let all: [String: ConsoleFile] = {
        var files: [String: ConsoleFile] = [:]
        for index in 0..<console_files_count {
            let file = unsafe console_file_at(index)
            let name = unsafe String(cString: file.name)
            let bytes = unsafe Array(UnsafeBufferPointer(start: file.bytes, count: file.count))
            files[name] = ConsoleFile(name: name, bytes: bytes)
        }
        return files
    }()

    /// Whether a browser can show the file as a page: the page itself, and the icon.
    package var isDocument: Bool { name.hasSuffix(".html") || name.hasSuffix(".svg") }

    package var contentType: String {
        switch name.split(separator: ".").last {
        case "html": "text/html; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "svg": "image/svg+xml"
        default: "application/octet-stream"
        }
    }
}
