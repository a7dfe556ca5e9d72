/// The alert of a push. A phone that gets it lights its screen and plays a sound.
package struct Alert: Sendable, Hashable {
    /// The title or the body.
    package enum Text: Sendable, Hashable {
        /// A text in one language.
        case plain(String)
        /// A key of the app's string catalog and the arguments of its text. One payload serves every language.
        case localized(key: String, arguments: [String])

        /// The text, or nil if it is localized.
        package var plainText: String? {
            switch self {
            case .plain(let text): text
            case .localized: nil
            }
        }

        var isEmpty: Bool {
            switch self {
            case .plain(let text): text.isEmpty
            case .localized(let key, _): key.isEmpty
            }
        }
    }

    /// The most arguments of one localized text.
    package static let argumentsMax = 16

    package var title: Text?
    package var body: Text?
    /// The name of a sound file in the app, or `default`.
    package var sound: String?

    package init(title: Text? = nil, body: Text? = nil, sound: String? = nil) {
        self.title = title
        self.body = body
        self.sound = sound
    }

    /// Whether the alert has no text.
    var isEmpty: Bool { (title?.isEmpty ?? true) && (body?.isEmpty ?? true) }
}
