/// The source of a value. It shows operators which of the four sources won.
package enum SettingOrigin: Sendable, Equatable, CustomStringConvertible {
    case builtIn
    case file(String)
    case environment(String)
    case flag(String)

    package var description: String {
        switch self {
        case .builtIn: "default"
        case .file(let path): "file \(path)"
        case .environment(let name): "environment \(name)"
        case .flag(let flag): "flag \(flag)"
        }
    }
}
