"""Files that other programs wrote: full-range colours, turned pictures, late starts, transparency, changes of size."""
import struct, subprocess, zlib

from . import Row

BARS = [(255, 255, 255), (0, 0, 0), (255, 0, 0), (0, 255, 0), (0, 0, 255), (128, 128, 128), (250, 200, 30), (16, 235, 128)]
WIDTH, HEIGHT = 256, 64
# The bars' own colours, without dithering.
PALETTE = "split[a][b];[a]palettegen=reserve_transparent=0[p];[b][p]paletteuse=dither=none"


def bars(lab, name, *options):
    """A file with eight bars of known colours, as FFmpeg writes it."""
    row = b"".join(bytes(BARS[x * 8 // WIDTH]) for x in range(WIDTH))
    lab.path("bars.raw").write_bytes(row * HEIGHT)
    file = lab.path(name)
    lab.ffmpeg("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{WIDTH}x{HEIGHT}", "-i", lab.path("bars.raw"), *options, file)
    return file


def shown(file, pixels="rgb24", filters="null"):
    """A file's first picture as FFmpeg shows it: its width, its height and its samples."""
    size = subprocess.run(
        ["ffmpeg", "-v", "error", "-i", str(file), "-frames:v", "1", "-vf", filters, "-c:v", "bmp", "-f", "image2pipe", "-"],
        capture_output=True, check=True).stdout
    width, height = struct.unpack_from("<ii", size, 18)
    data = subprocess.run(
        ["ffmpeg", "-v", "error", "-i", str(file), "-frames:v", "1", "-vf",
         f"{filters},scale=sws_flags=accurate_rnd+full_chroma_int", "-f", "rawvideo", "-pix_fmt", pixels, "-"],
        capture_output=True, check=True).stdout
    return width, abs(height), data


def colours(*kinds):
    def run(lab):
        worst = 0
        for number, (name, *options) in enumerate(kinds):
            source = bars(lab, f"{number}-{name}", *options)
            for kind in ("png", "mp4"):
                output = lab.path(f"{number}-out.{kind}")
                code, text = lab.enhance(source, output, "--scale", "1", "--tier", "base", "--quality", "1")
                lab.want(code == 0, f"{name} to {kind}: exit {code}: {text.strip()}")
                if code:
                    continue
                _, _, before = shown(source)
                _, _, after = shown(output)
                for bar in range(8):
                    at = 3 * (HEIGHT // 2 * WIDTH + bar * 32 + 16)
                    gap = max(abs(a - b) for a, b in zip(before[at:at + 3], after[at:at + 3]))
                    worst = max(worst, gap)
                    lab.want(gap <= 3, f"{name} {' '.join(options)} to {kind}: bar {bar} is off by {gap}")
        return f"{2 * len(kinds)} files, bars within {worst} levels"

    return run


def quarters(lab):
    """Four quarters of known levels in one picture."""
    rows = [bytes([40 + x // 48 * 40 + y // 32 * 80 for x in range(96)]) for y in range(64)]
    lab.path("quarters.raw").write_bytes(b"".join(rows))
    return ["-f", "rawvideo", "-pix_fmt", "gray", "-s", "96x64", "-r", "25", "-stream_loop", "9", "-i", lab.path("quarters.raw")]


def matrix(file, numbers):
    """Writes how an MP4's picture is to be turned into its track's header."""
    data = bytearray(file.read_bytes())
    at = data.index(b"tkhd") + 44
    for place, number in zip((0, 1, 3, 4), numbers):
        struct.pack_into(">i", data, at + 4 * place, number << 16)
    file.write_bytes(data)


def exif(tag):
    return b"MM\0*" + struct.pack(">IHHHIHHI", 8, 1, 0x0112, 3, 1, tag, 0, 0)


def photograph(lab, kind, tag):
    file = lab.path(f"{tag}.{kind}")
    lab.ffmpeg(*quarters(lab), "-frames:v", "1", "-q:v", "1", file)
    data = bytearray(file.read_bytes())
    if kind == "jpg":
        part = b"Exif\0\0" + exif(tag)
        data[2:2] = b"\xff\xe1" + struct.pack(">H", len(part) + 2) + part
    else:
        chunk = b"eXIf" + exif(tag)
        data[33:33] = struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
    file.write_bytes(data)
    return file


# How Exif's tags turn the four levels 40, 80 above 120, 160.
TAGS = {
    1: [40, 80, 120, 160], 2: [80, 40, 160, 120], 3: [160, 120, 80, 40], 4: [120, 160, 40, 80],
    5: [40, 120, 80, 160], 6: [120, 40, 160, 80], 7: [160, 80, 120, 40], 8: [80, 160, 40, 120],
}


def upright(lab, file, levels, name):
    output = lab.path(f"{file.stem}-{file.suffix[1:]}-out.{'png' if file.suffix in ('.jpg', '.png') else 'mp4'}")
    code, text = lab.enhance(file, output, "--tier", "base", "--quality", "1")
    lab.want(code == 0, f"{name}: exit {code}: {text.strip()}")
    if code:
        return
    width, height, data = shown(output, "gray")
    found = [data[height * down // 4 * width + width * across // 4] for down in (1, 3) for across in (1, 3)]
    lab.want(all(abs(a - b) <= 6 for a, b in zip(found, levels)), f"{name}: {found} in place of {levels}")
    turned = levels in (TAGS[5], TAGS[6], TAGS[7], TAGS[8])
    lab.want((width, height) == ((128, 192) if turned else (192, 128)), f"{name}: {width}x{height}")


def videos(lab):
    for number, (numbers, tag) in enumerate([((0, 1, -1, 0), 6), ((0, -1, 1, 0), 8), ((-1, 0, 0, -1), 3), ((-1, 0, 0, 1), 2)]):
        file = lab.path(f"{number}.mp4")
        lab.ffmpeg(*quarters(lab), "-vf", "format=yuv420p", "-c:v", "libx264", "-qp", "4", file)
        matrix(file, numbers)
        upright(lab, file, TAGS[tag], f"matrix {numbers}")
    for rotate, flip, tag in [(90, None, 8), (180, None, 3), (270, None, 6), (0, "horizontal", 2)]:
        file = lab.path(f"sei-{rotate}-{flip}.ts")
        more = f":flip={flip}" if flip else ""
        lab.ffmpeg(
            *quarters(lab), "-vf", "format=yuv420p", "-c:v", "libx264", "-qp", "4", "-bsf:v",
            f"h264_metadata=display_orientation=insert:rotate={rotate}{more}", file)
        upright(lab, file, TAGS[tag], f"SEI {rotate} {flip}")
    return "8 videos upright"


def photographs(lab):
    for kind in ("jpg", "png"):
        for tag, levels in TAGS.items():
            upright(lab, photograph(lab, kind, tag), levels, f"{kind}, tag {tag}")
    return "16 photographs upright"


def late(lab):
    length = 0
    for kind in ("ts", "mkv"):
        source, output = lab.path(f"late.{kind}"), lab.path(f"{kind}-out.mp4")
        lab.ffmpeg(
            "-f", "lavfi", "-i", "testsrc2=size=160x96:rate=25", "-f", "lavfi", "-i", "sine", "-t", "4", "-c:v", "libx264",
            "-c:a", "aac", "-output_ts_offset", "50000", source)
        code, text = lab.enhance(source, output, "--tier", "base")
        lab.want(code == 0, f"exit {code}: {text.strip()}")
        done = subprocess.run(
            ["ffprobe", "-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", str(output)],
            capture_output=True, text=True)
        length = float(done.stdout or 0)
        lab.want(3.9 < length < 4.5, f"{kind}: {length} s long")
        lab.want(lab.count(output) == 100, f"{kind}: {lab.count(output)} pictures")
    return f"{length:.1f} s"


def transparency(lab):
    clear = "color=gray:size=96x64,format=rgba,geq=r=200:g=100:b=50:a='if(lt(X,48),0,255)'"
    for pixels in ("rgba", "rgba64be", "ya8"):
        source = lab.path(f"{pixels}.png")
        lab.ffmpeg("-f", "lavfi", "-i", clear, "-frames:v", "1", "-pix_fmt", pixels, source)
        code, text = lab.enhance(source, lab.path(f"{pixels}-out.png"), "--tier", "base")
        lab.want(code == 0, f"{pixels}: exit {code}: {text.strip()}")
        width, height, data = shown(lab.path(f"{pixels}-out.png"), "gray", "format=rgba,alphaextract")
        found = [data[height // 2 * width + x] for x in (20, 80, 110, 180)]
        lab.want(found == [0, 0, 255, 255], f"{pixels}: {found}")
        for kind in ("mp4", "jpg"):
            code, text = lab.enhance(source, lab.path(f"{pixels}-out.{kind}"), "--tier", "base", "--quiet")
            lab.want(code == 0 and text.count("transparent") == 1, f"{pixels} to {kind}: exit {code}: {text.strip()}")
    return "kept in PNG, else one line"


def bits(lab):
    for pixels, words in (("rgb48be", "16-bit RGB"), ("gray16be", "16-bit grey")):
        source = lab.path(f"{pixels}.png")
        lab.ffmpeg("-f", "lavfi", "-i", "testsrc2=size=96x64", "-frames:v", "1", "-pix_fmt", pixels, source)
        code, text = lab.enhance(source, lab.path("out.png"), "--tier", "base", "--quiet")
        lab.want(code == 0 and text.count(f"{words}: converted to 8-bit 4:2:0") == 1, f"{pixels}: exit {code}: {text.strip()}")
    return "one line"


def sizes(lab):
    for number, size in enumerate(("320x180", "640x360", "240x240")):
        lab.ffmpeg(
            "-f", "lavfi", "-i", f"testsrc2=size={size}:rate=25", "-t", "2", "-c:v", "libx264", "-tune", "zerolatency", "-g", "25",
            "-output_ts_offset", 2 * number, lab.path(f"{number}.ts"))
    lab.path("in.ts").write_bytes(b"".join(lab.path(f"{n}.ts").read_bytes() for n in range(3)))
    relay = lab.relay(lab.path("in.ts"), lab.path("out.ts"), "--keep-size", "--tier", "base", "--budget", "5s")
    code = relay.process.wait(120)
    lab.want(code == 0, f"exit {code}: {relay.text()}")
    done = subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "frame=width,height", "-of", "csv=p=0",
         str(lab.path("out.ts"))], capture_output=True, text=True)
    found = [line.strip(",") for line in done.stdout.split()]
    lab.want(set(found) == {"640,360"}, f"sizes {sorted(set(found))}")
    lab.want(len(found) == 150, f"{len(found)} pictures")
    return f"{len(found)} pictures of {', '.join(sorted(set(found))).replace(',', 'x')}"


ROWS = [
    Row("photographs-full-range", "full-range RGB, grey and palettes: PNG, BMP, TIFF, JPEG", "bars within 3 levels", colours(
        ("a.png", "-pix_fmt", "rgb24"), ("a.png", "-pix_fmt", "rgba"), ("a.png", "-pix_fmt", "rgb48be"),
        ("a.png", "-vf", PALETTE, "-pix_fmt", "pal8"), ("a.png", "-pix_fmt", "gray"), ("a.png", "-pix_fmt", "gray16be"),
        ("a.bmp", "-pix_fmt", "bgr24"), ("a.tiff", "-pix_fmt", "rgb24"), ("a.jpg", "-pix_fmt", "yuvj444p", "-q:v", "1"))),
    Row("videos-full-range", "FFV1, H.264 and HEVC in RGB; full range in YCbCr", "bars within 3 levels", colours(
        ("a.mkv", "-c:v", "ffv1", "-pix_fmt", "bgr0"), ("a.mkv", "-c:v", "ffv1", "-pix_fmt", "gbrp10le"),
        ("a.mp4", "-c:v", "libx264rgb", "-qp", "0"),
        ("a.mkv", "-c:v", "libx265", "-pix_fmt", "gbrp", "-x265-params", "lossless=1:log-level=none"),
        ("a.mkv", "-c:v", "libx265", "-pix_fmt", "gray", "-x265-params", "lossless=1:log-level=none"),
        ("a.mp4", "-vf", "scale=out_color_matrix=bt709", "-colorspace", "bt709", "-c:v", "libx264", "-pix_fmt", "yuvj420p", "-qp", "0"))),
    Row("videos-turned", "a phone's video: a display matrix in MP4, a message (SEI) in a transport stream", "upright", videos),
    Row("photographs-turned", "a phone's photograph: Exif in JPEG and PNG, all eight tags", "upright", photographs),
    Row("late-start", "a recording that starts at 50,000 s", "starts at 0", late),
    Row("transparency", "PNG with transparency", "kept and enlarged in PNG, else one line", transparency),
    Row("sixteen-bits", "PNG with 16 bits", "one line", bits),
    Row("keep-size", "a source that changes its size twice, with --keep-size", "one size, no picture lost", sizes),
]
